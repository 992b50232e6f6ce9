"""What a user says about the ways of running a workload: the parameters of each scenario, as typed records."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Archive:
    """Data that nobody read for `after_days` goes to a cheaper class or service."""

    after_days: float
    to: str | None = None
    """A class of the same provider, or another provider of the table; None: the class `archive`."""
    cold_share: float | None = None
    """Of what is stored; None: unknown."""
    recalled_gb_per_month: float | None = None
    """Of what is archived and read all the same; None: unknown."""
    recall_requests_per_month: float = 0.0
    moved_objects_per_month: float | None = None
    """Each a write request in the class it goes to; None: as many as are written, of the cold share."""
    early_gb_months: float = 0.0
    """Charged in that class for what left it, read or deleted, before its least time; counted in a trace."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Raw data is kept; derived data is computed again, beside the store, when it is wanted."""

    share: float
    """Of what is stored and written: derived."""
    compute_hours_per_month: float | None = None
    """To derive it again; None: all hours of the workload."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A local cache through which all reads from outside go."""

    size_gb: float | None
    policy: str | None = None
    """Of a cache that was simulated."""
    byte_hit_ratio: float | None = None
    hit_ratio: float | None = None
    """Of requests; None: that of bytes."""
    miss_gb_per_month: float | None = None
    """What is read from the store all the same, where that is known and no ratio is."""
    price_per_tb_month: float = 0.0
    """What keeping the cache costs; 0, as in the study of 2008, which is said."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Computing on machines of the service's region, which are rented."""

    compute_hours_per_month: float | None = None
    """None: all hours of the workload."""
    result_share: float = 0.0
    """Of the bytes read: what leaves the region as results."""


@dataclass(frozen=True, slots=True)
class Cooperative:
    """Readers serve each other (BitTorrent): a share of the bytes comes from peers."""

    share: float


Way = Archive | Derived | Cache | Beside | Cooperative


@dataclass(frozen=True, slots=True)
class Named:
    """A way, and what the user calls it."""

    name: str
    way: Way
