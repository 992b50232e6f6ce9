"""The HTML report of discovery runs: one file with its answer, map, bars and tables, which needs no network."""

from pathlib import Path

from analyze.discovery.document import provenance
from analyze.discovery.drawing import addresses_over_time, round_trip_bars, world_map
from analyze.discovery.report import Report
from analyze.discovery.texts import heading, tables, trouble
from analyze.pages.blocks import Drawing, Lines, Page, Section, Text
from analyze.pages.write import write_report_page
from analyze.storage.page import section
from analyze.units import printable

_MAP = (
    "Red: front ends where they were located. Triangles: vantage points, each with the circle that its nearest "
    "front end cannot be outside of. Coast lines: Natural Earth."
)
_BARS = "Median over the region's addresses, with the least and the longest."


def write_page_of(report: Report, path: Path) -> None:
    """Write the report."""
    write_report_page(page_of(report), path)


def page_of(report: Report) -> Page:
    """The report as data."""
    vantages = ", ".join(dict.fromkeys(printable(run.vantage) for run in report.runs))
    return Page(
        title=f"Front ends seen from {vantages}",
        answer=(
            Text(heading(report), "sentence"),
            Lines((), troubles=tuple(trouble(report))),
            Drawing(world_map(report), caption=_MAP),
        ),
        sections=(
            Section(
                "round-trips-drawn",
                "Round trips to regions",
                (Drawing(round_trip_bars(report)),),
                hint=_BARS,
                wide=True,
            ),
            Section("over-time", "Addresses over time", (Drawing(addresses_over_time(report.names)),), wide=True),
            *map(section, tables(report)),
        ),
        provenance=provenance(report),
    )
