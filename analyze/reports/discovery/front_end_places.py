"""Places of front ends for a report on storage runs: what discovery runs located, by address."""

from collections.abc import Sequence

from vmtrace.analyze.findings.services.ranges import AddressRanges
from vmtrace.analyze.reports.discovery.records import DiscoveryRun
from vmtrace.analyze.reports.discovery.report import measured, report_of
from vmtrace.analyze.reports.storage.front_ends import FrontEndPlace


def front_end_places(runs: Sequence[DiscoveryRun]) -> dict[str, FrontEndPlace]:
    """Of every address that these runs located together; empty without runs."""
    problems: list[str] = []
    report = report_of(measured(runs, problems, lambda _: None), AddressRanges(), problems)
    return {
        address: FrontEndPlace(at.city, at.iata, at.country, at.lat, at.lon, at.radius_km, at.confidence)
        for address, row in report.addresses.items()
        if (at := row.location) is not None
    }
