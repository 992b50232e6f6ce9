"""The HTML report of queue runs: the answer and latency over time first, then all figures and tables, in one file."""

from collections.abc import Sequence
from itertools import islice

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Figures, Lines, Page, Share, Shares, Text
from vmtrace.analyze.pages.sections import further_figures, section, summary_of
from vmtrace.analyze.reports.queues.tables import Record, Report
from vmtrace.analyze.reports.queues.texts import facts, heading, result, tables, trouble
from vmtrace.analyze.reports.queues.time_parts import PARTS
from vmtrace.analyze.words.palette import QUEUE_PARTS
from vmtrace.analyze.words.units import printable, seconds, share
from vmtrace.formats.quantities import plural

_LEAD_HEIGHT = 190
_BARS_SHOWN = 3


def page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record) -> Page:
    """The report as data."""
    first, *more = [_said(report, len(reports) > 1) for report in reports]
    return Page(
        title=", ".join(printable(report.label or report.name) for report in reports),
        answer=(
            Text(first, "sentence"),
            *([Lines(tuple(more))] if more else []),
            Figures(tuple(charts[:1]), height=_LEAD_HEIGHT),
            *[bar for one in reports if (bar := time_bar(one, len(reports) > 1)) is not None][:_BARS_SHOWN],
            *(block for one in reports for block in _summary(one)),
        ),
        sections=(
            *further_figures(charts[1:]),
            *map(section, tables(reports)),
        ),
        provenance=provenance,
    )


def time_bar(report: Report, named: bool) -> Shares | None:
    """Where the time of a run's messages goes."""
    found = report.time_parts
    if not found.total_s:
        return None
    parts = tuple(
        Share(
            name,
            found.seconds[part] / found.total_s,
            f"{share(found.seconds[part] / found.total_s)}, {seconds(found.seconds[part] / found.messages)} each",
            QUEUE_PARTS[part],
        )
        for part, name in PARTS.items()
        if found.seconds[part]
    )
    where = f"{printable(report.label or report.name)}: where" if named else "Where"
    return Shares(f"{where} the time of a message goes (mean of {plural(found.messages, 'message')})", parts)


def _summary(report: Report) -> tuple[Block, ...]:
    """Without the line on the messages' fate, which is in the page's first lines."""
    return summary_of(heading(report), trouble(report), islice(facts(report), 1, None))


def _said(report: Report, named: bool) -> str:
    return f"{printable(report.label or report.name)}: {result(report)}" if named else result(report)
