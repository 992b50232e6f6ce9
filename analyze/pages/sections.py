"""Parts that the pages on runs share: figures after the first, what a run was, and tables of texts behind folds."""

from collections.abc import Iterable, Sequence

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Column, Figures, Fold, Row, Section, summary
from vmtrace.analyze.pages.blocks import Table as Shown
from vmtrace.analyze.tables.text_table import Table
from vmtrace.analyze.words.units import plural

_OPEN = frozenset({"beside", "throughput"})
"""Tables that are never behind a fold."""
_FEW_ROWS = 8
_SENTENCE = 40
"""Characters from which on a text is one."""


def further_figures(charts: Sequence[Chart]) -> tuple[Section, ...]:
    """All but the first, if there are more."""
    hint = "Drag to zoom, double-click to see all; a click on a name hides or shows its series."
    return (Section("figures", "Figures", (Figures(tuple(charts)),), hint=hint),) if charts else ()


def summary_of(heading: str, trouble: Iterable[str], facts: Iterable[str]) -> tuple[Block, ...]:
    """What a run was, what makes its numbers less than the whole, and what it shows."""
    return summary(heading, tuple(trouble), tuple(facts))


def section(one: Table) -> Section:
    """A table of texts as a section of its own; a long one stands behind a fold."""
    if one.name in _OPEN or len(one.rows) <= _FEW_ROWS:
        return open_section(one)
    block = Fold(plural(len(one.rows), "row"), (_rows(one),))
    return Section(one.name, one.title, (block,), hint=one.hint, wide=True)


def open_section(one: Table) -> Section:
    """A table of texts as a section of its own, never behind a fold."""
    return Section(one.name, one.title, (_rows(one),), hint=one.hint, wide=True)


def _rows(one: Table) -> Shown:
    columns = tuple(_column(one, place) for place in range(len(one.head)))
    return Shown(columns, tuple(Row(cells) for cells in one.rows))


def _column(one: Table, place: int) -> Column:
    """Names begin at the left; a sentence does, too, and wraps."""
    wraps = any(len(row[place]) > _SENTENCE for row in one.rows)
    return Column(one.head[place], left=place < one.left or wraps, wraps=wraps)
