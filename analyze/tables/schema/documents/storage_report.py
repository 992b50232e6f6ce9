"""The records of `vmtrace.storage_report/1`."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vmtrace.analyze.findings.joined import JoinedRow
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, bounds

SCHEMA = "vmtrace.storage_report/1"


class Agreement(TypedDict):
    """Captures against the counters of the interface"""

    transactions: Annotated[Count, "With a capture, and counters of an interface that was quiet before and after"]
    packets_agree: Count
    bytes_agree: Count
    packets_apart: Count
    bytes_apart: Count


class Estimate(TypedDict):
    """A number with its 95 % confidence interval; null for what the sample is too small for"""

    value: float | None
    low: float | None
    high: float | None
    n: Count


class Throughput(TypedDict):
    """Fig. 4"""

    workload: str
    direction: Literal["upload", "download"]
    files: Count
    file_bytes: Count
    planned: Annotated[Count, "Transactions there are"]
    whole: Annotated[Count, "Those in which every object was transferred: the others do not count"]
    throughput_bps: Annotated[
        Estimate,
        "Median over transactions: workload bits over the time from the first object's start to the last one's end",
    ]
    object_time_s: Annotated[Estimate, "Median over transactions of the median time of an object"]
    login_s: Estimate


class Period(TypedDict):
    """Transactions of a workload that began in an hour (UTC), on a day, or at an hour of any day"""

    workload: str
    direction: Literal["upload", "download"]
    period: Literal["hour", "day", "hour of day"]
    start_ns: Annotated[int | None, "Null of an hour of day"]
    hour: Annotated[Annotated[int, bounds(minimum=0, maximum=23)] | None, "Of an hour of day"]
    transactions: Annotated[int, bounds(minimum=1)]
    whole: Annotated[Count, "Those in which every object was transferred: the others do not count"]
    mean_bps: Positive | None
    p5_bps: Annotated[Positive | None, "Null of fewer than 20"]
    median_bps: Positive | None
    p95_bps: Annotated[Positive | None, "Null of fewer than 20"]


ConnectionsByRole = TypedDict(
    "ConnectionsByRole", {"control": Positive, "data": Positive, "control and data": Positive, "unlogged": Positive}
)
"""Mean number of a transaction; unlogged: in the capture, not in the log"""


class Connections(TypedDict):
    """Fig. 6a"""

    workload: str
    direction: Literal["upload", "download"]
    transactions: Annotated[Count, "With a capture"]
    opened: Annotated[Estimate, "SYNs without retransmissions, of a transaction"]
    syn_retransmissions: Count
    by_role: Annotated[ConnectionsByRole, "Mean number of a transaction; unlogged: in the capture, not in the log"]
    at_once: Annotated[Count | None, "Most connections open at the same time"]
    objects_at_once: Annotated[Count | None, "Most objects under way at the same time"]
    objects_per_data_connection: Positive | None
    reused_share: Annotated[Share | None, "Of the objects, those that needed no new connection"]
    tls_connections: Count
    tls_resumed: Count
    tls_unknown: Annotated[Count, "Too little of the handshake was captured"]
    manner: str | None


class OverheadPartsBytes(TypedDict):
    """They sum to wire_bytes"""

    workload: Count
    signalling: Count
    tls_record: Count
    tls_handshake: Count
    headers: Count
    acks: Count
    retransmissions: Count


class OverheadShares(TypedDict):
    """Of wire_bytes; they sum to 1"""

    workload: NotRequired[Share]
    signalling: NotRequired[Share]
    tls_record: NotRequired[Share]
    tls_handshake: NotRequired[Share]
    headers: NotRequired[Share]
    acks: NotRequired[Share]
    retransmissions: NotRequired[Share]


class Overhead(TypedDict):
    """Fig. 6b"""

    workload: str
    direction: Literal["upload", "download"]
    transactions: Count
    left_out: Annotated[Count, "Without a capture, with drops, or not complete"]
    workload_bytes: Count
    wire_bytes: Count
    parts_bytes: Annotated[OverheadPartsBytes, "They sum to wire_bytes"]
    tcp_payload_bytes: Annotated[Count, "Carried by TCP, each byte once"]
    connections: Annotated[Positive | None, "Of a transaction"]
    tls_record_is_least: Annotated[bool, "The snap length cut headers of TLS records: some of signalling is tls_record"]
    overhead_ratio: Annotated[
        float | None, "Wire bytes beyond the workload's, over those; below zero where a client sends less"
    ]
    tcp_payload_ratio: Annotated[Positive | None, "TCP payload over workload bytes, as in the study"]
    shares: Annotated[OverheadShares, "Of wire_bytes; they sum to 1"]


class Contents(TypedDict):
    """What the client saves on content"""

    workload: str
    direction: Literal["upload", "download"]
    content: Literal["compressible", "repeated", "changed"]
    carried_ratio: Annotated[Positive, "Payload that TCP carried, each byte once, over the workload's"]
    random_ratio: Annotated[Positive | None, "The same of random files, as many and as large"]
    saves: Annotated[bool, "A tenth less than random files took"]
    sentence: str


class TimesMedianPartsS(TypedDict):
    name_lookup: Positive | None
    tcp_handshake: Positive | None
    tls_handshake: Positive | None
    request_to_first_byte: Positive | None
    transfer: Positive | None
    idle: Positive | None


class TimesShares(TypedDict):
    """Of the time of all together; they sum to 1. request_to_first_byte is null for uploads: it is in transfer"""

    name_lookup: Positive | None
    tcp_handshake: Positive | None
    tls_handshake: Positive | None
    request_to_first_byte: Positive | None
    transfer: Positive | None
    idle: Positive | None


class Times(TypedDict):
    """Time ledger"""

    workload: str
    direction: Literal["upload", "download"]
    what: Annotated[Literal["login", "object", "command"], "command: a program of its own, run by --tool"]
    objects: Count
    left_out: Annotated[Count, "Failed, or with connections that are not in the capture"]
    median_s: Positive
    median_parts_s: TimesMedianPartsS
    shares: Annotated[
        TimesShares,
        "Of the time of all together; they sum to 1. request_to_first_byte is null for uploads: it is in transfer",
    ]


class RoundTrip(TypedDict):
    """Figs. 2 and 3"""

    front_end: str
    method: Annotated[str, "icmp and tcp are echoes, tcp handshake is of the transfers' connections"]
    sent: Count
    lost: Count
    min_s: Positive | None
    median_s: Estimate
    max_s: Positive | None


class Limit(TypedDict):
    workload: str
    direction: Literal["upload", "download"]
    connections: Count
    judged: Annotated[Count, "With a verdict that is not left open"]
    factor: Annotated[str | None, "As in vmtrace.analysis/1"]
    bytes_share: Positive | None
    factors: Annotated[dict[str, Share], "Share of the bytes of judged connections"]
    slowest: Annotated[str | None, "The verdict on the slowest transaction"]


class FrontEndPlace(TypedDict):
    city: str
    iata: str | None
    country: str
    lat: Annotated[float, bounds(minimum=-90, maximum=90)]
    lon: Annotated[float, bounds(minimum=-180, maximum=180)]
    radius_km: Positive
    confidence: Share


class FrontEnd(TypedDict):
    """One address of the service"""

    front_end: str
    name: Annotated[str | None, "In reverse"]
    transactions: Count
    objects: Count
    first_seen_ns: int | None
    last_seen_ns: int | None
    min_rtt_s: Positive | None
    rtt_method: str | None
    farthest_km: Annotated[Positive | None, "By the least round trip, at two thirds of the speed of light"]
    place: Annotated[
        FrontEndPlace | None,
        "Where a discovery run located it (vmtrace discover); null without one, or where it could not",
    ]


class Group(TypedDict):
    """Two neighbouring blocks of front ends"""

    direction: Literal["upload", "download"]
    first_block: str
    second_block: str
    first_front_ends: Count
    second_front_ends: Count
    first_median_bps: Positive
    second_median_bps: Positive
    first_values: Count
    second_values: Count
    ratio_of_medians: Annotated[Estimate, "Second over first, within workloads"]
    cliffs_delta: Estimate
    p: Positive | None
    p_adjusted: Annotated[Positive | None, "For all forks tested (Holm)"]
    differs: bool


class Trouble(TypedDict):
    workload: str
    direction: Literal["upload", "download"]
    objects: Count
    done: Count
    retries: Annotated[Count, "Write retries of an upload, read retries of a download"]
    retry_causes: dict[str, Count]
    retried_objects: Count
    errors: Annotated[Count, "Write errors of an upload, read errors of a download: the digest does not fit"]
    failed: Count
    failed_kinds: dict[str, Count]
    transactions: Count
    transactions_failed: Count
    availability: Share | None
    availability_by_retries: NotRequired[
        Annotated[dict[str, Share], "Share of the objects that were done with at most so many retries"]
    ]


class Transaction(TypedDict):
    transaction: Count
    workload: str
    direction: Literal["upload", "download"]
    repeat: Count
    start_ns: int
    status: str
    objects: Count
    moved_bytes: Count
    throughput_bps: Positive | None
    smoothed_bps: NotRequired[
        Annotated[
            Positive | None, "Running median of its workload and direction; null near the ends and where there are few"
        ]
    ]
    connections: Count | None
    wire_bytes: Count | None
    application_bytes: Count | None
    packets: Count | None
    dropped: Count | None
    lookups: Count | None
    other_connections: Annotated[Count | None, "In the capture, not to the service"]


class Charge(TypedDict):
    """Fig. 7: what the run is charged by its table of prices, and what the invoice says"""

    category: Literal["storage", "requests", "transfer", "retrieval", "total"]
    currency: str
    predicted: Positive | None
    invoiced: float | None
    difference: Annotated[float | None, "Invoiced less predicted"]
    difference_share: Annotated[float | None, "Of the predicted"]


class Campaign(TypedDict):
    """Of a run that is no benchmark"""

    kind: Literal["probes", "surge", "availability", "locations", "sweep"]
    location: str | None
    requests: int | None


class ProbesSizes(TypedDict):
    size_bytes: Annotated[int, bounds(minimum=1)]
    direction: Literal["upload", "download"]
    n: int
    mean_bps: NotRequired[float | None]
    modes: NotRequired[int | None]


class ProbesDaily(TypedDict):
    size_bytes: int | None
    direction: str
    start_ns: int | None
    n: int | None
    mean_bps: float | None


class ProbesHourly(TypedDict):
    size_bytes: int | None
    direction: str
    n: int | None
    mean_bps: float | None
    mean_bytes_per_s: float | None
    mean_tps: float | None
    hour: Annotated[int, bounds(minimum=0, maximum=23)]


class ProbesHourTests(TypedDict):
    first_hour: int | None
    second_hour: int | None
    first_n: int | None
    second_n: int | None
    days: NotRequired[int]
    days_effective: NotRequired[float]
    t: float | None
    p_adjusted: float | None
    p: Share


class ProbesSuccessive(TypedDict):
    size_bytes: int | None
    direction: str
    n: int | None
    r: float | None
    p: float | None


class ProbesAddresses(TypedDict):
    first_seen_ns: int | None
    last_seen_ns: int | None
    address: str
    count: int


class ProbesChangePoints(TypedDict):
    size_bytes: int | None
    direction: str
    last_before_ns: int | None
    first_after_ns: int | None
    p: float | None
    changes: Any
    ratio: float
    explanation: str | None


class ProbesEvents(TypedDict):
    last_before_ns: int
    first_after_ns: int
    end_ns: int | None
    cause: Literal["front_end", "window", "window_size", "segment_size", "round_trips", "rate", "unknown"]
    packets: bool
    ratio: float
    changes: Any
    explanation: str
    steps: int


class Probes(TypedDict):
    """Of probes, availability and locations"""

    sizes: list[ProbesSizes]
    daily: list[ProbesDaily]
    hourly: list[ProbesHourly]
    hour_tests: list[ProbesHourTests]
    successive: list[ProbesSuccessive]
    addresses: list[ProbesAddresses]
    change_points: list[ProbesChangePoints]
    events: NotRequired[list[ProbesEvents]]


class RunOverheadLeftOut(TypedDict):
    workload: str
    direction: str
    transactions: Annotated[int, bounds(minimum=1)]
    of: Annotated[int, bounds(minimum=1)]
    reason: str


class RunSurge(TypedDict):
    threads: int
    host: str
    per_thread_bps: float | None
    combined_bps: float
    n: int


class RunLocations(TypedDict):
    location: str
    direction: Literal["upload", "download"]
    size_bytes: Annotated[int, bounds(minimum=1)]
    n: int
    mean_bps: float
    top1_bps: float
    stdev_bps: float | None


class RunSweep(TypedDict):
    connections: int
    part_bytes: Annotated[int, bounds(minimum=1)]
    source: str
    bps: float | None
    cpu_share: float | None
    n: int


class RunMerge(TypedDict):
    parts: int
    seconds: float
    n: int


class RunAvailability(TypedDict):
    retries: int
    share: Share
    service_n: NotRequired[int]
    service_share: NotRequired[Share | None]


class RunHedging(TypedDict):
    size_bytes: int
    direction: Literal["upload", "download"]
    manner: Literal["at once", "repeated"]
    requests: int
    n: int
    median_s: float
    p95_s: float
    p99_s: float | None
    more_requests: float


class RunOutages(TypedDict):
    start_ns: int
    end_ns: int
    length_s: float
    failed: int
    kinds: Any
    fault: Literal["own", "service", "unknown"]


class Run(TypedDict):
    path: str
    name: str
    id: str | None
    status: str
    error: str | None
    provider: str
    region: str | None
    endpoint: str | None
    sdk: str | None
    plan: str | None
    scale: float | None
    front_ends: list[str]
    left_behind: Annotated[Count, "Objects that could not be removed from the service"]
    dropped_packets: Count
    problems: list[str]
    overhead_left_out: Annotated[
        list[RunOverheadLeftOut], "Transactions whose overhead is not known, by workload, direction and reason"
    ]
    interface_agreement: Agreement | None
    throughput: list[Throughput]
    throughput_by_period: NotRequired[list[Period]]
    connections: list[Connections]
    overhead: list[Overhead]
    contents: NotRequired[list[Contents]]
    times: list[Times]
    round_trips: list[RoundTrip]
    findings: Annotated[list[JoinedRow], "What held the transfers back, by their packets"]
    limits: list[Limit]
    front_end_servers: NotRequired[list[FrontEnd]]
    front_end_groups: list[Group]
    retries_and_errors: list[Trouble]
    transactions: list[Transaction]
    charges: NotRequired[Annotated[list[Charge], "Empty without a table of prices"]]
    campaign: NotRequired[Campaign | None]
    probes: NotRequired[Probes | None]
    surge: NotRequired[list[RunSurge]]
    locations: NotRequired[list[RunLocations]]
    sweep: NotRequired[list[RunSweep]]
    merge: NotRequired[list[RunMerge]]
    availability: NotRequired[list[RunAvailability]]
    outages: NotRequired[list[RunOutages]]
    hedging: NotRequired[list[RunHedging]]


class Document(TypedDict):
    """What `vmtrace storage report --json` writes. Seconds are _s, instants _ns (Unix nanoseconds), sizes _bytes,
    rates _bps (bits/s), shares 0..1. A number that could not be measured is null. Keys are only added within
    version 1.
    """

    schema: Literal["vmtrace.storage_report/1"]
    vmtrace: str
    confidence: Positive
    runs: list[Run]
