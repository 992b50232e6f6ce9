"""The HTML report of swarm runs: one file with its answer, figures and all tables, which needs no network."""

from collections.abc import Sequence

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Figures, Page, Shares, Text
from vmtrace.analyze.pages.causes import NOT_JUDGED, cause_shares
from vmtrace.analyze.pages.sections import further_figures, section, summary_of
from vmtrace.analyze.reports.swarm.tables import Record, Report
from vmtrace.analyze.reports.swarm.texts import facts, heading, tables, trouble
from vmtrace.analyze.words.units import printable, si

_LEAD_HEIGHT = 190


def page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record) -> Page:
    """The report as data."""
    lead = next((line for report in reports for line in facts(report)), "no download is complete enough for a result")
    return Page(
        title=", ".join(printable(report.name) for report in reports),
        answer=(
            Text(f"{lead[0].upper()}{lead[1:].removesuffix('.')}.", "sentence"),
            Figures(tuple(charts[:1]), height=_LEAD_HEIGHT),
            *limits_bar(reports),
            *(block for one in reports for block in _summary(one, lead)),
        ),
        sections=(
            *further_figures(charts[1:]),
            *map(section, tables(reports)),
        ),
        provenance=provenance,
    )


def limits_bar(reports: Sequence[Report]) -> tuple[Shares, ...]:
    """What limited the sources of finished downloads, by the bytes that each carried."""
    amounts: dict[str, float] = {}
    for report in reports:
        for source in (source for row in report.runs if row.finished for source in row.sources):
            if source.bytes_by_packets:
                cause = source.limit or NOT_JUDGED
                amounts[cause] = amounts.get(cause, 0) + source.bytes_by_packets
    if not amounts:
        return ()
    return (cause_shares("What limited the sources, by bytes", amounts, lambda cause: f", {si(amounts[cause], 'B')}"),)


def _summary(report: Report, lead: str) -> tuple[Block, ...]:
    """Without the line that is the page's first sentence."""
    return summary_of(heading(report), trouble(report), (line for line in facts(report) if line != lead))
