"""The HTML page of a comparison: what changed in a sentence, both runs over one time axis, every metric."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Figures, Fold, Lines, Page, Section, Text
from vmtrace.analyze.reports.run import provenance
from vmtrace.analyze.reports.run.changes.compare_runs import Change, RunComparison
from vmtrace.analyze.reports.run.changes.terminal import COLUMNS, causes, heading, headline, shown, trouble, verdict
from vmtrace.analyze.reports.run.charts import both_over_time, by_cause, distributions
from vmtrace.analyze.reports.run.page.answer import cause_bar
from vmtrace.analyze.tables.table import Cell, Column, Table
from vmtrace.analyze.tables.table import shown as shown_as_table
from vmtrace.analyze.words.units import printable
from vmtrace.formats.quantities import plural

_HEIGHT = 105
_METRICS = {
    "distribution-throughput": "goodput_bps",
    "distribution-mean-rtt": "rtt_mean_s",
    "distribution-loss-rate": "loss_rate",
}
"""Which metric a chart shows, by its name."""


def page_of(comparison: RunComparison) -> Page:
    """The page as data."""
    runs = [comparison.before, comparison.after]
    small = tuple(distributions.chart(runs))
    bars = (cause_bar(run.name, run.transfers) for run in runs)
    return Page(
        title=" and ".join(printable(run.name) for run in runs) + " compared",
        answer=_answer(comparison),
        sections=(
            Section("causes", "What limited them", (Figures((by_cause.chart(runs),)), *bars)),
            *_distributions(comparison, small),
            _changes(comparison),
        ),
        provenance=provenance.of_runs(runs),
    )  # fmt: skip


def _answer(comparison: RunComparison) -> tuple[Block, ...]:
    lines = [line for line in (*verdict(comparison), *causes(comparison)) if line]
    return (
        Text(headline(comparison), "sentence"),
        Lines(tuple(f"{line[0].upper()}{line[1:]}" for line in lines)),
        Figures((both_over_time.chart(comparison.before, comparison.after),), height=_HEIGHT),
        Lines(tuple(heading(comparison)), troubles=tuple(trouble(comparison))),
    )


def _changes(comparison: RunComparison) -> Section:
    first = shown(comparison)
    changed = [change for change in first if change.change]
    same = [change for change in first if not change.change]
    rest = [change for change in comparison.changes if change not in first]
    opened = (_table(changed),) if changed else (Text("No metric changed significantly."),)
    folds = (
        (same, "without a significant change"),
        (rest, "of single indices without a significant change"),
    )
    more = (Fold(f"{plural(len(found), 'metric')} {what}", (_table(found),)) for found, what in folds if found)
    return Section(
        "changes", "What changed", (*opened, *more), wide=True,
        hint="Before and after are medians. The change is the ratio of medians, or the difference of means where there"
        " is no ratio, with its 95 % confidence interval. Cliff's delta, -1 to 1, says how often a value after is"
        " larger than one before. p is adjusted for the number of metrics (Holm).",
    )  # fmt: skip


def _distributions(comparison: RunComparison, charts: tuple[Chart, ...]) -> tuple[Section, ...]:
    """A chart for each metric that did change; the others behind a fold."""
    changed = {change.metric for change in comparison.established}
    first = tuple(chart for chart in charts if _METRICS.get(chart.name) in changed)
    rest = tuple(chart for chart in charts if chart not in first)
    what = plural(len(rest), "metric")
    blocks = (
        *((Figures(first, beside=True),) if first else ()),
        *((Fold(f"{what} without a significant change", (Figures(rest, beside=True),)),) if rest else ()),
    )
    return (Section("distributions", "Distributions", blocks),) if blocks else ()


def _table(changes: list[Change]) -> Table:
    columns = [
        replace(column, title=column.title or "result", shows=partial(_cell, column), wraps=False) for column in COLUMNS
    ]
    return shown_as_table(columns, changes, sortable=True)


_KEYS: dict[str, Callable[[Change], float | None]] = {
    "n": lambda change: change.n_before,
    "before": lambda change: change.median_before,
    "after": lambda change: change.median_after,
    "Cliff's delta": lambda change: change.difference.cliffs_delta.value,
    "p": lambda change: change.p_adjusted,
}
"""What columns are sorted by; the others by how large the change is."""


def _cell(column: Column[Change], change: Change) -> Cell:
    return Cell(str(column.shows(change)), _KEYS.get(column.title, _number)(change))


def _number(change: Change) -> float | None:
    """What the column of the change is sorted by."""
    found = change.difference
    return found.ratio_of_medians.value if found.ratio_of_medians.value is not None else found.difference_of_means.value
