"""The records of `vmtrace.queue_report/1`."""

from typing import Annotated, Any, Literal, TypedDict

from vmtrace.analyze.findings.joined import JoinedRow

SCHEMA = "vmtrace.queue_report/1"


class Stage(TypedDict):
    number: int
    name: str
    kind: Literal["put", "take", "flow"]
    first_message: int
    messages: int
    rate_per_s: float | None
    size_bytes: int
    send_batch: int
    receive_batch: int
    delete_batch: int
    senders: int
    receivers: int
    deleters: int
    visibility_s: float | None
    wait_s: float | None
    backlog: int


class Messages(TypedDict):
    planned: int
    delivered: int
    pending: int
    lost: int | None
    lost_in_flight: int | None
    refused: int
    unsent: int


class Order(TypedDict):
    stage: int | None
    n: int
    out_of_order: int
    out_of_order_share: float | None
    tau: float | None
    displacement_p50: int | None
    displacement_p90: int | None
    displacement_p99: int | None
    displacement_max: int | None
    fifo_violations: int | None
    batched: bool


class Duplicates(TypedDict):
    after_visibility: int
    within_visibility: int
    after_deletion: int
    messages: int
    most_deliveries: int
    late_deletions: int


class Wire(TypedDict):
    bytes_per_message: float | None
    packets_per_message: float | None


class Rate(TypedDict):
    stage: int
    operation: str
    batch: int
    threads: int
    messages: int
    seconds: float | None
    messages_per_s: float | None
    per_thread_messages_per_s: list[float]
    messages_per_call: float | None
    set_rate_per_s: float | None


Latency = TypedDict(
    "Latency",
    {
        "stage": int | None,
        "from": Literal["due", "sent"],
        "reason": str | None,
        "left_out_over_break": int,
        "left_out_negative": int,
        "n": int,
        "min_s": float | None,
        "mean_s": float | None,
        "p50_s": float | None,
        "p90_s": float | None,
        "p99_s": float | None,
        "p999_s": float | None,
        "p9999_s": float | None,
        "max_s": float | None,
    },
)


class Lateness(TypedDict):
    stage: int
    after: Literal["due", "free"]
    n: int
    min_s: float | None
    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    p999_s: float | None
    p9999_s: float | None
    max_s: float | None


class Call(TypedDict):
    stage: int
    operation: str
    calls: int
    failed: int
    empty: int | None
    requests: int
    retries: int
    retry_causes: dict[str, int]
    errors: dict[str, int]
    refused: dict[str, int]
    foreign: int | None
    n: int
    min_s: float | None
    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    p999_s: float | None
    p9999_s: float | None
    max_s: float | None


class WireOfRole(TypedDict):
    stage: int
    session: int
    role: str
    messages: int
    connections: int
    opened: int
    bytes: int
    packets: int
    bytes_per_message: float | None
    packets_per_message: float | None
    parts: dict[str, int]
    tls_connections: int
    tls_resumed: int
    tls_handshake_median_s: float | None


class Process(TypedDict):
    stage: int
    session: int
    role: str
    place: int
    start_bytes: int | None
    most_bytes: int | None
    cpu_share: float | None
    waited_share: float | None


class Limit(TypedDict):
    stage: int
    limited_by: Literal["service_throttling", "client_cpu", "backlog_bound", "request_round_trips", "set_rate"]
    sentence: str


class Quantiles(TypedDict):
    n: int
    min_s: float | None
    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    p999_s: float | None
    p9999_s: float | None
    max_s: float | None


class Period(TypedDict):
    start_ns: int
    width_s: int
    sent: int
    delivered: int
    deleted: int
    from_due: Quantiles
    from_sent: Quantiles


class Run(TypedDict):
    path: str
    name: str
    id: str | None
    status: str
    error: str | None
    provider: str
    region: str | None
    location: str | None
    endpoint: str | None
    fifo: bool
    sdk: str | None
    plan: str | None
    sessions: int
    stages: list[Stage]
    left_behind: int
    dropped_packets: int
    clock_error_s: float | None
    problems: list[str]
    messages: Messages
    lost: int | None
    foreign: int
    order: Order | None
    duplicates: Duplicates
    wire: Wire
    charges: dict[str, Any] | None
    used: dict[str, int]
    rates: list[Rate]
    latency: list[Latency]
    lateness: list[Lateness]
    calls: list[Call]
    order_by_stage: list[Order]
    wire_by_role: list[WireOfRole]
    processes: list[Process]
    findings: Annotated[list[JoinedRow], "What held the transfers back, by their packets"]
    limits: list[Limit]
    over_time: list[Period]


class Document(TypedDict):
    """What `vmtrace queue report --json` writes. Seconds are _s, instants _ns (Unix nanoseconds), sizes _bytes, rates
    per second, shares 0..1. A number that could not be measured is null. Keys are only added within version 1.
    """

    schema: Literal["vmtrace.queue_report/1"]
    vmtrace: str
    runs: list[Run]
