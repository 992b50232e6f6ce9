"""The records of `vmtrace.discovery_report/1`."""

from typing import Annotated, Literal, TypedDict

from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, bounds

SCHEMA = "vmtrace.discovery_report/1"


class Run(TypedDict):
    """A folder that was read"""

    path: str
    vantage: str
    status: str


class Position(TypedDict):
    """Degrees, north and east positive"""

    lat: Annotated[float, bounds(minimum=-90, maximum=90)]
    lon: Annotated[float, bounds(minimum=-180, maximum=180)]


class Calibration(TypedDict):
    """Round trip in seconds = s_per_km x distance + offset_s, below those to all landmarks"""

    s_per_km: Annotated[float, bounds(exclusiveMinimum=0)]
    offset_s: Positive
    landmarks: Count


class Vantage(TypedDict):
    """Where a run was made, and whom it asked"""

    vantage: str
    position: Position | None
    questions: Count
    unanswered: Count
    set_aside: Annotated[dict[str, str], "Lying resolvers, each with the reason"]
    given_up: list[str]
    calibration: Calibration | None
    traces: Count
    notes: list[str]


class Steering(TypedDict):
    """Whether the addresses depend on the country of the resolver: a permutation test"""

    depends: bool | None
    p_value: Share | None
    reason: str


class Evidence(TypedDict):
    """A line for or against a place"""

    kind: Literal["reverse_name", "router_name", "region", "same_site", "distance", "calibrated_distance", "overlap"]
    text: str
    refuted: bool


class Location(TypedDict):
    """A place, with how sure it is and why"""

    city: str
    iata: str | None
    lat: Annotated[float, bounds(minimum=-90, maximum=90)]
    lon: Annotated[float, bounds(minimum=-180, maximum=180)]
    radius_km: Positive
    confidence: Share
    country: str
    evidence: list[Evidence]


class Certificate(TypedDict):
    """What the address showed when asked for the name"""

    speaks_tls: bool
    trusted: bool
    names: list[str]
    error: str | None


class RoundTrips(TypedDict):
    """From one vantage point by one method"""

    vantage: str
    method: Literal["icmp", "tcp", "unknown"]
    source: Literal["packets", "clock"]
    sent: Count
    lost: Count
    min_s: Positive | None
    p25_s: Positive | None
    median_s: Positive | None
    p75_s: Positive | None
    p95_s: Positive | None
    max_s: Positive | None


class Address(TypedDict):
    """A front end"""

    address: str
    first_seen_ns: int
    last_seen_ns: int
    count: Annotated[int, bounds(minimum=1)]
    resolvers: list[str]
    ptr: str | None
    rtt_min_s: Positive | None
    location: Location | None
    not_located_because: str | None
    evidence: list[Evidence]
    certificate: Certificate | None
    published_range: str | None
    router_names: list[str]
    round_trips: list[RoundTrips]


class Name(TypedDict):
    """A name with its front ends in the order in which they were first seen"""

    name: str
    provider: str | None
    region: str | None
    label: str | None
    city: str | None
    country: str | None
    iata: str | None
    replies: Annotated[dict[str, Count], "Replies by what they were"]
    least_ttl_s: Count | None
    aliases: list[str]
    depends_on_resolver_place: Steering
    addresses: list[Address]


class RegionLocations(TypedDict):
    city: str
    addresses: Annotated[int, bounds(minimum=1)]


class Region(TypedDict):
    """A line of the study's Table I"""

    provider: str
    region: str
    name: str
    locations: list[RegionLocations]
    not_located: Count
    addresses: Annotated[int, bounds(minimum=1)]


class RegionRoundTrip(TypedDict):
    """A bar of the study's Figs 2 and 3, over the region's addresses"""

    region: str
    vantage: str
    method: str
    addresses: Annotated[int, bounds(minimum=1)]
    lost: Count
    min_s: Positive
    median_s: Positive
    max_s: Positive


class Document(TypedDict):
    """What `vmtrace discover report --json` writes. Seconds are _s, instants _ns (Unix nanoseconds), shares 0..1. A
    number that could not be measured is null. Keys are only added within version 1.
    """

    schema: Literal["vmtrace.discovery_report/1"]
    vmtrace: str
    runs: list[Run]
    vantages: list[Vantage]
    names: list[Name]
    regions: list[Region]
    region_round_trips: list[RegionRoundTrip]
    problems: list[str]
