"""The HTML report of discovery runs: one file with its answer, map, bars and tables, which needs no network."""

from collections import Counter
from collections.abc import Sequence

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Drawing, Figures, Page, Section, Share, Shares, Text, summary
from vmtrace.analyze.pages.sections import section
from vmtrace.analyze.reports.discovery.drawing import world_map
from vmtrace.analyze.reports.discovery.report import Report
from vmtrace.analyze.reports.discovery.texts import addresses_text, heading, tables, trouble
from vmtrace.analyze.words.palette import PLACE_SOURCES
from vmtrace.analyze.words.units import printable, share

_MAP = (
    "Red: front ends where they were located. Triangles: vantage points, each with the circle that its nearest "
    "front end cannot be outside of. Coast lines: Natural Earth."
)

_SOURCES = {
    "reverse_name": "reverse name",
    "region": "the provider's name of the region",
    "router_name": "router on the way",
    "same_site": "neighbour at the same site",
    "distance": "round trips alone",
    "not_located": "not located",
}


def page_of(report: Report, charts: Sequence[Chart], provenance: object) -> Page:
    """The report as data."""
    vantages = ", ".join(dict.fromkeys(printable(run.vantage) for run in report.runs))
    return Page(
        title=f"Front ends seen from {vantages}",
        answer=(
            Text(f"{heading(report)}.", "sentence"),
            Drawing(world_map(report), caption=_MAP),
            *sources_bar(report),
            *summary("", tuple(trouble(report)), ()),
        ),
        sections=(
            Section("figures", "Figures", (Figures(tuple(charts)),)),
            *map(section, tables(report)),
        ),
        provenance=provenance,
    )


def sources_bar(report: Report) -> tuple[Shares, ...]:
    """What located the front ends: each counts once, for the strongest hint to its place."""
    found = Counter(row.verdict.named_by or "not_located" for row in report.addresses.values())
    if not found:
        return ()
    parts = tuple(
        Share(name, found[kind] / found.total(), f"{share(found[kind] / found.total())}, {addresses_text(found[kind])}",
              *PLACE_SOURCES[kind])
        for kind, name in _SOURCES.items()
        if found[kind]
    )  # fmt: skip
    return (Shares("What located the front ends (the strongest evidence of each)", parts),)
