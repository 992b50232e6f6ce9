"""Parts that the pages on runs share: figures after the first, what a run was, and tables of texts behind folds."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Figures, Fold, Section, summary
from vmtrace.analyze.tables.table import Table
from vmtrace.formats.quantities import plural

_OPEN = frozenset({"beside", "throughput"})
"""Tables that are never behind a fold."""
_FEW_ROWS = 8
_CHARTS_SHOWN = 4
_SENTENCE = 40
"""Characters from which on a text is one."""


def further_figures(charts: Sequence[Chart]) -> tuple[Section, ...]:
    """All but the first, if there are more: some in sight, the others behind a fold."""
    if not charts:
        return ()
    hint = "Drag to zoom, double-click to see all; a click on a name hides or shows its series."
    first, rest = tuple(charts[:_CHARTS_SHOWN]), tuple(charts[_CHARTS_SHOWN:])
    more = (Fold(plural(len(rest), "more chart"), (Figures(rest),)),) if rest else ()
    return (Section("figures", "Figures", (Figures(first), *more), hint=hint),)


def summary_of(heading: str, trouble: Iterable[str], facts: Iterable[str]) -> tuple[Block, ...]:
    """What a run was, what makes its numbers less than the whole, and what it shows."""
    return summary(heading, tuple(trouble), tuple(facts))


def section(one: Table) -> Section:
    """A table of texts as a section of its own; a long one stands behind a fold."""
    if one.name in _OPEN or len(one.rows) <= _FEW_ROWS:
        return open_section(one)
    block = Fold(plural(len(one.rows), "row"), (_laid_out(one),))
    return Section(one.name, one.title, (block,), hint=one.hint, wide=True)


def open_section(one: Table) -> Section:
    """A table of texts as a section of its own, never behind a fold."""
    return Section(one.name, one.title, (_laid_out(one),), hint=one.hint, wide=True)


def _laid_out(one: Table) -> Table:
    """Names begin at the left; a sentence does, too, and wraps."""
    columns = []
    for place, column in enumerate(one.columns):
        wraps = any(len(row.texts[place]) > _SENTENCE for row in one.rows)
        columns.append(replace(column, left=column.left or wraps, wraps=wraps))
    return replace(one, columns=tuple(columns))
