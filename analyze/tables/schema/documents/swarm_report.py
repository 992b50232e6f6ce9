"""The records of `vmtrace.swarm_report/1`."""

from typing import Annotated, Literal, TypedDict

from vmtrace.analyze.findings.joined import JoinedRow
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share

SCHEMA = "vmtrace.swarm_report/1"


class Source(TypedDict):
    kind: Literal["seed", "web_seed"]
    address: str
    bytes_by_packets: int | None
    bytes_by_client: int
    share: Share | None
    apart: float | None
    throughput_bps: Positive | None
    active_s: Positive | None
    capacity_bps: Positive | None
    load: float | None
    connections: Count | None
    retransmitted_bytes: Count | None
    tls: bool | None
    limit: str | None
    limit_share: float | None
    limit_confidence: float | None
    limit_sentence: str | None
    errors: dict[str, int]
    banned: bool


class Run(TypedDict):
    data_set: str
    number: Count
    repeat: Count | None
    seeds: Count
    web_seed: Literal["public", "forbidden", "none"]
    status: str
    error: str | None
    http_status: int | None
    start_ns: int
    duration_s: Positive
    throughput_bps: Positive | None
    bytes_by_packets: int | None
    bytes_by_client: int
    apart: float | None
    agrees: bool | None
    web_seed_share: Share | None
    wire_bytes: Count | None
    overhead_ratio: float | None
    overhead_bytes: dict[str, int]
    wasted_bytes: Count | None
    failed_bytes: Count | None
    redundant_bytes: Count | None
    hash_failures: int | None
    unattributed_bytes: int | None
    digest_ok: bool | None
    dropped_packets: int | None
    other_connections: int | None
    jain_index: Share | None
    fairness_missing: str | None
    bin_s: Positive
    sources: list[Source]


class Capacity(TypedDict):
    kind: Literal["seed", "web_seed"]
    address: str
    capacity_bps: Positive | None
    bytes: Count
    active_s: Positive | None
    limit: str | None


class Estimate(TypedDict):
    value: float | None
    low: float | None
    high: float | None
    n: int


class BySeeds(TypedDict):
    web_seed: Literal["public", "forbidden", "none"]
    seeds: Count
    finished: int
    of: int
    duration_s: Estimate
    throughput_bps: Estimate
    web_seed_share: Estimate
    overhead_ratio: Estimate
    jain_index: Estimate


class PublicAgainstForbidden(TypedDict):
    seeds: Count
    public_duration_s: Positive | None
    forbidden_duration_s: Positive | None
    change: float | None
    public_store_bytes: Positive | None
    forbidden_store_bytes: Positive | None
    public_seed_bytes: Positive | None
    forbidden_seed_bytes: Positive | None


class Charge(TypedDict):
    web_seed: Literal["public", "forbidden", "none"]
    seeds: Count
    downloads: int
    store_bytes: Positive
    currency: str
    charge: float
    alone: float
    saved: float
    saved_share: float | None


class Prices(TypedDict):
    table: str
    currency: str
    provider: str
    region: str | None
    download: float


class DataSet(TypedDict):
    path: str
    name: str
    id: str | None
    status: str
    error: str | None
    client: str | None
    file: str | None
    size_bytes: Count | None
    piece_bytes: Count | None
    web_seed: str | None
    trackers: list[str]
    tracker_reply_s: Positive | None
    interface: str | None
    downloads_planned: Count | None
    problems: list[str]
    findings: Annotated[list[JoinedRow], "What held the downloads back, by their packets"]
    capacities: list[Capacity]
    by_seeds: list[BySeeds]
    public_against_forbidden: list[PublicAgainstForbidden]
    charges: list[Charge]


class Document(TypedDict):
    """What `vmtrace swarm report --json` writes; `runs` are the downloads. Seconds are _s, instants _ns (Unix
    nanoseconds), sizes _bytes, rates _bps (bits/s), shares 0..1. A number that could not be measured is null.
    Keys are only added within version 1.
    """

    schema: Literal["vmtrace.swarm_report/1"]
    vmtrace: str
    confidence: Positive
    agrees_within: Positive
    prices: Prices | None
    data_sets: list[DataSet]
    runs: list[Run]
