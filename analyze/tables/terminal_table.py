"""Tables of texts on a terminal: side by side where it is wide enough, else a card for each row.

A number is never broken over lines: texts are, down to a few letters. What does not fit even so becomes cards, as on a
phone: the row's name, then each value with the title of its column.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from vmtrace.analyze.tables.table import Row, Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_LEAST_TEXT = 12
"""Letters to which a column of texts shrinks at most."""
_BETWEEN = 2
"""Spaces between two columns."""


def terminal_table(table: Table, width: int, *, several: bool = True) -> "RenderableType":
    """For a terminal of so many columns; without the column of the run where there is only one."""
    if not several and table.head[0] == "run":
        table = replace(table, columns=table.columns[1:], rows=tuple(Row(row.cells[1:]) for row in table.rows))
    if fits(table, width):
        return _side_by_side(table)
    from rich.console import Group

    return Group(*(line for row in table.rows for line in _card(table, row)))


def fits(table: Table, width: int) -> bool:
    """True if so many columns of a terminal are enough, with texts broken as far as they may be."""
    needed = _BETWEEN * (len(table.columns) - 1)
    for place, title in enumerate(table.head):
        needed += max(_least_width(table, place), *(len(word) for word in title.split() or [""]))
    return needed <= width


def _least_width(table: Table, place: int) -> int:
    longest = max((len(row.texts[place]) for row in table.rows), default=0)
    return min(longest, _LEAST_TEXT) if _is_text(table, place) else longest


def _is_text(table: Table, place: int) -> bool:
    return table.columns[place].left or any(row.texts[place].count(" ") > _BETWEEN for row in table.rows)


def _side_by_side(table: Table) -> "RenderableType":
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, _BETWEEN, 0, 0))
    for place, title in enumerate(table.head):
        justify = "left" if _is_text(table, place) else "right"
        drawn.add_column(title, justify=justify, overflow="fold", min_width=_least_width(table, place))  # type: ignore[arg-type]
    for row in table.rows:
        drawn.add_row(*map(Text, row.texts))
    return drawn


def _card(table: Table, row: Row) -> "Iterator[Text]":
    from rich.text import Text

    cells = [(column, text.strip()) for column, text in zip(table.columns, row.texts, strict=True)]
    yield Text(", ".join(text for column, text in cells if text and (column.left or not column.title)), "bold")
    for column, text in cells:
        if text and column.title and not column.left:
            yield Text(f"  {column.title}: {text}")
