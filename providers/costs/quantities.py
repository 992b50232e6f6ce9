"""The records that flow through the model: a workload a month, what a scenario uses of a service, and its charges.

Volumes are in the gigabytes of the price table; months are twelfths of a year.
"""

from dataclasses import dataclass, field, fields

from vmtrace.providers.rates import Rates

CATEGORIES = ("storage", "transfer", "requests", "retrieval", "compute")
TOTAL = "total"
MONTHS = 12


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A share of what is written, and the age at which it is deleted."""

    share: float
    days: float


@dataclass(frozen=True, slots=True)
class Workload:
    """What is kept, read and written in a month; what a summary leaves out is 0, and said in `notes`."""

    name: str
    stored_gb: float = 0.0
    growth_gb_per_month: float = 0.0
    """What more is kept at the end of a month than at its beginning."""
    read_gb_per_month: float = 0.0
    written_gb_per_month: float = 0.0
    read_requests_per_month: float = 0.0
    write_requests_per_month: float = 0.0
    list_requests_per_month: float = 0.0
    delete_requests_per_month: float = 0.0
    compute_hours_per_month: float = 0.0
    """Of computing on the data, wherever it is done; rented where a scenario computes at the service."""
    jobs_per_month: float = 0.0
    same_region_share: float = 0.0
    """Of the bytes read and written: from machines of the service's own region."""
    objects: float = 0.0
    mean_age_days: float | None = None
    """Of objects when they are deleted; None: unknown."""
    retrieved_peak_gb_per_hour: float | None = None
    """The month's highest rate of bringing data back, by what is asked for; None: unknown."""
    billed_months: float = 1.0
    """So many months share one scale of steps in the price: 1, as services bill."""
    early_gb_months: float | None = None
    """Where a trace counted it: storage a month that is charged beyond the deletion of objects."""
    lifetimes: tuple[Lifetime, ...] = ()
    """Where not all objects live as long as their mean: then `mean_age_days` is that of these."""
    notes: tuple[str, ...] = ()

    @property
    def outside_share(self) -> float:
        """Of the bytes: to and from other places."""
        return 1.0 - self.same_region_share

    @property
    def deleted_gb_per_month(self) -> float:
        """What is written and not growth."""
        return max(self.written_gb_per_month - self.growth_gb_per_month, 0.0)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one class of one service is used for in a month, in the units that are priced."""

    stored_gb: float = 0.0
    growth_gb_per_month: float = 0.0
    early_gb_months: float | None = 0.0
    """Deleted before the least time of the class, and charged for it; None: that time is missing in the table."""
    uploaded_gb: float = 0.0
    downloaded_gb: float = 0.0
    same_region_gb: float = 0.0
    retrieved_gb: float = 0.0
    retrieved_peak_gb_per_hour: float | None = None
    write_requests: float = 0.0
    read_requests: float = 0.0
    list_requests: float = 0.0
    delete_requests: float = 0.0
    compute_hours: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and value < 0:
                raise ValueError(f"{one.name}: {value:g} is less than nothing")


@dataclass(frozen=True, slots=True)
class Portion:
    """Usage at the prices of one row of the table."""

    rates: Rates
    usage: Usage


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way of running a workload."""

    name: str
    kind: str
    portions: tuple[Portion, ...]
    own_storage: float = 0.0
    """Of the user's own a month, in the currency of the table: what a local cache costs."""
    billed_months: float = 1.0
    hit_ratio: float | None = None
    """Of requests, in a cache."""
    byte_hit_ratio: float | None = None
    missing: tuple[str, ...] = ()
    """Prices and numbers without which this scenario has no total, beyond those of its portions."""
    notes: tuple[str, ...] = ()
    """What was assumed."""


@dataclass(frozen=True, slots=True)
class Line:
    """One price put on what is used of it."""

    label: str
    """The row of the table: service, class, region."""
    price: str
    category: str
    units: float
    """In the first month; GB, thousands of requests or hours."""
    month: float | None
    """None: the table has no such price."""
    year: float | None


@dataclass(frozen=True, slots=True)
class Charges:
    """Of a scenario: each category and `total`; None where a price that it needs is missing."""

    scenario: Scenario
    month: dict[str, float | None]
    year: dict[str, float | None]
    lines: tuple[Line, ...]
    missing: tuple[str, ...] = field(default=())

    @property
    def year_total(self) -> float | None:
        """All categories."""
        return self.year[TOTAL]
