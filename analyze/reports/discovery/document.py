"""The JSON document `vmtrace.discovery_report/1` (docs/discovery.md), and the same rows as CSV files."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from vmtrace.analyze.reports.discovery.report import AddressRow, NameRow, Report, VantageRow
from vmtrace.analyze.reports.discovery.round_trips import RoundTrips
from vmtrace.analyze.tables.provenance import of_report
from vmtrace.analyze.tables.schema.documents.discovery_report import SCHEMA
from vmtrace.analyze.trace import version

Record = dict[str, Any]


def document(report: Report) -> Record:
    """Everything that was found."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "runs": [{"path": str(one.folder), "vantage": one.vantage, "status": one.status} for one in report.runs],
        "vantages": [_vantage(one) for one in report.vantages],
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
    found = row.location
    return {
        "name": name.about.name,
        "region": name.about.region,
        "address": row.address,
        "first_seen_ns": row.first_seen_ns,
        "last_seen_ns": row.last_seen_ns,
        "count": row.count,
        "resolvers": len(row.resolvers),
        "ptr": row.ptr,
        "rtt_min_s": row.rtt_min_s,
        "city": found.city if found else None,
        "iata": found.iata if found else None,
        "lat": found.lat if found else None,
        "lon": found.lon if found else None,
        "radius_km": found.radius_km if found else None,
        "confidence": found.confidence if found else None,
        "not_located_because": row.verdict.reason,
    }


def _over_time(report: Report) -> Iterable[Record]:
    """Distinct addresses of each name as they were first seen."""
    for name in report.names:
        for number, row in enumerate(name.addresses, 1):
            yield {"name": name.about.name, "time_ns": row.first_seen_ns, "addresses": number, "address": row.address}


def _name(one: NameRow) -> Record:
    return {
        **asdict(one.about),
        "replies": one.statuses,
        "least_ttl_s": one.least_ttl_s,
        "aliases": list(one.aliases),
        "depends_on_resolver_place": asdict(one.steering),
        "addresses": [_address(row) for row in one.addresses],
    }


def _address(row: AddressRow) -> Record:
    evidence = [asdict(one) for one in row.verdict.evidence]
    shown = row.certificate
    return {
        "address": row.address,
        "first_seen_ns": row.first_seen_ns,
        "last_seen_ns": row.last_seen_ns,
        "count": row.count,
        "resolvers": list(row.resolvers),
        "ptr": row.ptr,
        "rtt_min_s": row.rtt_min_s,
        "location": None if row.location is None else {**asdict(row.location), "evidence": evidence},
        "not_located_because": row.verdict.reason,
        "evidence": evidence,
        "certificate": None if shown is None else _certificate(shown),
        "published_range": row.published,
        "router_names": list(row.router_names),
        "round_trips": [_trip(one) for one in row.round_trips],
    }


def _certificate(shown: Any) -> Record:
    return {
        "speaks_tls": shown.speaks_tls,
        "trusted": shown.trusted,
        "names": list(shown.names),
        "error": shown.error,
    }


def _trip(one: RoundTrips) -> Record:
    record = asdict(one)
    del record["address"]
    return record


def _region(row: Any) -> Record:
    return {
        "provider": row.provider,
        "region": row.region,
        "name": row.name,
        "locations": [{"city": city, "addresses": number} for city, number in row.locations],
        "not_located": row.not_located,
        "addresses": row.addresses,
    }


def _vantage(row: VantageRow) -> Record:
    return {
        "vantage": row.vantage,
        "position": None if row.position is None else asdict(row.position),
        "questions": row.questions,
        "unanswered": row.unanswered,
        "set_aside": dict(row.set_aside),
        "given_up": list(row.given_up),
        "calibration": None if row.line is None else asdict(row.line),
        "traces": row.traces,
        "notes": list(row.notes),
    }
