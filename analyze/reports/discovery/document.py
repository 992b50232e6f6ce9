"""The JSON document `vmtrace.discovery_report/1` (docs/discovery.md), and the same rows as CSV files."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypedDict

from vmtrace.analyze.reports.discovery.locating import Evidence, Location
from vmtrace.analyze.reports.discovery.records import CertificateRecord, NameRecord
from vmtrace.analyze.reports.discovery.report import AddressRow, NameRow, RegionRoundTrip, RegionRow, Report, VantageRow
from vmtrace.analyze.reports.discovery.round_trips import RoundTrips
from vmtrace.analyze.reports.discovery.steering import Steering
from vmtrace.analyze.tables.provenance import of_report
from vmtrace.analyze.tables.schema.typed import FLAT, Count, Positive, as_record, bounds, record_of
from vmtrace.analyze.trace import version

SCHEMA = "vmtrace.discovery_report/1"
Record = dict[str, Any]


class Run(TypedDict):
    """A folder that was read"""

    path: str
    vantage: str
    status: str


class LocationRecord(TypedDict):
    """A place, with how sure it is and why."""

    location: Annotated[Location, FLAT]
    evidence: list[Evidence]


class Address(TypedDict):
    """A front end"""

    address: str
    first_seen_ns: int
    last_seen_ns: int
    count: Annotated[int, bounds(minimum=1)]
    resolvers: list[str]
    ptr: str | None
    rtt_min_s: Positive | None
    location: LocationRecord | None
    not_located_because: str | None
    evidence: list[Evidence]
    certificate: CertificateRecord | None
    published_range: str | None
    router_names: list[str]
    round_trips: list[RoundTrips]


class Name(TypedDict):
    """A name with its front ends in the order in which they were first seen"""

    about: Annotated[NameRecord, FLAT]
    replies: Annotated[dict[str, Count], "Replies by what they were"]
    least_ttl_s: Count | None
    aliases: list[str]
    depends_on_resolver_place: Steering
    addresses: list[Address]


class RegionLocations(TypedDict):
    """Addresses of a region at one place."""

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


class Document(TypedDict):
    """What `vmtrace discover report --json` writes. Seconds are _s, instants _ns (Unix nanoseconds), shares 0..1. A
    number that could not be measured is null. Keys are only added within version 1.
    """

    schema: Literal["vmtrace.discovery_report/1"]
    vmtrace: str
    runs: list[Run]
    vantages: list[VantageRow]
    names: list[Name]
    regions: list[Region]
    region_round_trips: list[RegionRoundTrip]
    problems: list[str]


def document(report: Report) -> Record:
    """Everything that was found."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "runs": [{"path": str(one.folder), "vantage": one.vantage, "status": one.status} for one in report.runs],
        "vantages": [as_record(one) for one in report.vantages],
        "names": [_name(one) for one in report.names],
        "regions": [_region(one) for one in report.regions()],
        "region_round_trips": [asdict(one) for one in report.region_round_trips()],
        "problems": list(report.problems),
    }


def provenance(report: Report) -> Record:
    """Where the results come from."""
    runs = [{"path": str(one.folder), "vantage": one.vantage, "start_ns": one.start_ns} for one in report.runs]
    return of_report(SCHEMA, runs=runs)


def csv_tables(report: Report) -> dict[str, list[Record]]:
    """Every table as flat rows."""
    pairs = [(name, row) for name in report.names for row in name.addresses]
    regions = [_region(one) for one in report.regions()]
    return {
        "regions": [one | {"locations": "; ".join(at["city"] for at in one["locations"])} for one in regions],
        "region-round-trips": [asdict(one) for one in report.region_round_trips()],
        "addresses": [_flat_address(name, row) for name, row in pairs],
        "round-trips": [asdict(trip) for row in report.addresses.values() for trip in row.round_trips],
        "evidence": [
            {"address": row.address, **asdict(one)} for row in report.addresses.values() for one in row.verdict.evidence
        ],
        "addresses-over-time": list(_over_time(report)),
    }


def _flat_address(name: NameRow, row: AddressRow) -> Record:
    about, kept = ("name", "region"), ("address", "first_seen_ns", "last_seen_ns", "count", "resolvers", "ptr")
    place = ("city", "iata", "lat", "lon", "radius_km", "confidence")
    return {
        **{key: getattr(name.about, key) for key in about},
        **{key: getattr(row, key) for key in (*kept, "rtt_min_s")},
        "resolvers": len(row.resolvers),
        **{key: getattr(row.location, key, None) for key in place},
        "not_located_because": row.verdict.reason,
    }


def _over_time(report: Report) -> Iterable[Record]:
    """Distinct addresses of each name as they were first seen."""
    for name in report.names:
        for number, row in enumerate(name.addresses, 1):
            yield {"name": name.about.name, "time_ns": row.first_seen_ns, "addresses": number, "address": row.address}


def _name(one: NameRow) -> Record:
    addresses = [_address(row) for row in one.addresses]
    return record_of(Name, one, replies=one.statuses, depends_on_resolver_place=one.steering, addresses=addresses)


def _address(row: AddressRow) -> Record:
    found, evidence = row.location, row.verdict.evidence
    return record_of(
        Address,
        row,
        location=None if found is None else record_of(LocationRecord, location=found, evidence=evidence),
        not_located_because=row.verdict.reason,
        evidence=evidence,
        published_range=row.published,
    )


def _region(row: RegionRow) -> Record:
    return record_of(Region, row, locations=[{"city": city, "addresses": number} for city, number in row.locations])
