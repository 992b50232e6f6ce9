"""The records of `vmtrace.cost/1`."""

from typing import Annotated, Literal, TypedDict

from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, bounds
from vmtrace.formats.schemas import COST

SCHEMA = COST


class Amounts(TypedDict):
    storage: Positive | None
    transfer: Positive | None
    requests: Positive | None
    retrieval: Positive | None
    compute: Positive | None
    total: Positive | None


class Line(TypedDict):
    label: str
    price: str
    category: Literal["storage", "transfer", "requests", "retrieval", "compute"]
    units: Positive
    month: float | None
    year: float | None


class Scenario(TypedDict):
    name: str
    kind: Literal["everything", "archive", "derived", "cache", "beside", "cooperative"]
    month: Amounts
    year: Amounts
    per_job: float | None
    hit_ratio: Share | None
    byte_hit_ratio: Share | None
    missing: list[str]
    notes: list[str]
    lines: list[Line]


Prices = TypedDict(
    "Prices",
    {
        "name": str,
        "source": str,
        "currency": str,
        "gb_bytes": Literal[1000000000, 1073741824],
        "provider": str,
        "class": str | None,
        "region": str | None,
    },
)


class Lifetime(TypedDict):
    share: Share
    days: Positive


class Workload(TypedDict):
    name: str
    stored_gb: Positive
    growth_gb_per_month: Positive
    read_gb_per_month: Positive
    written_gb_per_month: Positive
    read_requests_per_month: Positive
    write_requests_per_month: Positive
    list_requests_per_month: Positive
    delete_requests_per_month: Positive
    compute_hours_per_month: Positive
    jobs_per_month: Positive
    objects: Positive
    billed_months: Positive
    same_region_share: Share
    mean_age_days: Positive | None
    early_gb_months: Positive | None
    lifetimes: list[Lifetime]
    notes: list[str]


class TraceLifetimes(TypedDict):
    at_most_days: Positive
    share: Share | None


class TraceCaches(TypedDict):
    policy: Literal["lru", "s3-fifo"]
    capacity_bytes: Annotated[int, bounds(minimum=1)]
    hits: Count
    hit_bytes: Count


class Trace(TypedDict):
    accesses: Annotated[int, bounds(minimum=1)]
    objects: Annotated[int, bounds(minimum=1)]
    duration_s: Annotated[float, bounds(exclusiveMinimum=0)]
    months: Annotated[float, bounds(exclusiveMinimum=0)]
    lifetimes: list[TraceLifetimes]
    caches: list[TraceCaches]


class BreakEven(TypedDict):
    scenario: str
    against: str
    variable: str
    unit: str
    value: float | None
    now: float | None
    sentence: str


class Sensitivity(TypedDict):
    scenario: str
    price: str
    year_change: float | None
    share: float | None
    equal_at_factor: float | None


class InvoiceMonth(TypedDict):
    category: str
    predicted: float | None
    invoiced: float | None
    difference: float | None
    difference_share: float | None
    explanations: list[str]


class Invoice(TypedDict):
    scenario: str
    month: list[InvoiceMonth]


class Document(TypedDict):
    """What `vmtrace cost --json` writes. Amounts are in the currency of the prices, GB those of the prices (gb_bytes),
    shares 0..1. What is unknown is null, and named in `missing`. Keys are only added within version 1.
    """

    schema: Literal["vmtrace.cost/1"]
    vmtrace: str
    sentence: str
    prices: Prices
    workload: Workload
    trace: Trace | None
    scenarios: Annotated[list[Scenario], bounds(minItems=1)]
    break_even: list[BreakEven]
    sensitivity: list[Sensitivity]
    invoice: list[Invoice] | None
