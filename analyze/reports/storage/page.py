"""The HTML report of storage runs: one file with its result in a sentence, figures and all tables."""

from collections.abc import Sequence

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Figures, Fold, Lines, Page, Share, Shares, Text
from vmtrace.analyze.pages.sections import further_figures, section, summary_of
from vmtrace.analyze.reports.storage.result import results, telling_times
from vmtrace.analyze.reports.storage.tables import Record, Report
from vmtrace.analyze.reports.storage.texts import facts, heading, tables, trouble
from vmtrace.analyze.reports.storage.time_ledger import TimeRow
from vmtrace.analyze.words.palette import PHASES
from vmtrace.analyze.words.units import printable, share
from vmtrace.formats.quantities import plural

_LEAD_HEIGHT = 190
_FIRST_SHOWN = 4
"""Results in the first screen; the others are behind a fold."""
_BARS_SHOWN = 3


def page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record) -> Page:
    """The report as data."""
    return Page(
        title=", ".join(printable(report.label) for report in reports),
        answer=_answer(reports, charts[:1]),
        sections=(
            *further_figures(charts[1:]),
            *map(section, tables(reports)),
        ),
        provenance=provenance,
    )  # fmt: skip


def _answer(reports: Sequence[Report], lead: Sequence[Chart]) -> tuple[Block, ...]:
    """Result, figure, and what the runs were."""
    first, *more = results(reports) or ["No transaction is complete enough for a result."]
    shown = Lines(tuple(more[:_FIRST_SHOWN]))
    rest = (Fold(plural(len(more) - _FIRST_SHOWN, "more result"), (Lines(tuple(more[_FIRST_SHOWN:])),)),)
    bars = [_time_bar(one, row) for one in reports if (row := telling_times(one)) is not None]
    return (
        Text(first, "sentence"),
        *([shown] if more else []),
        Figures(tuple(lead), height=_LEAD_HEIGHT),
        *bars[:_BARS_SHOWN],
        *(rest if len(more) > _FIRST_SHOWN else ()),
        *(block for one in reports for block in summary_of(heading(one), trouble(one), facts(one))),
    )


def _time_bar(report: Report, row: TimeRow) -> Shares:
    """Where the time of one workload's objects goes."""
    parts = tuple(
        Share(name.replace("_", " "), part, share(part), colour)
        for name, colour in PHASES.items()
        if (part := row.shares.get(name))
    )
    kind = f"{row.workload}, {row.direction}"
    return Shares(printable(f"{report.label}: where the time of an object goes ({kind})"), parts)
