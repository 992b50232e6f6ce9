"""Tables of texts on a terminal: side by side where it is wide enough, else a card for each row.

A number is never broken over lines: texts are, down to a few letters. What does not fit even so becomes cards, as on a
phone: the row's name, then each value with the title of its column.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vmtrace.analyze.tables.text_table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_LEAST_TEXT = 12
"""Letters to which a column of texts shrinks at most."""
_BETWEEN = 2
"""Spaces between two columns."""


def terminal_table(table: Table, width: int, *, several: bool = True) -> "RenderableType":
    """For a terminal of so many columns; without the column of the run where there is only one."""
    first = 0 if several or table.head[0] != "run" else 1
    head, left = table.head[first:], table.left - first
    rows = [row[first:] for row in table.rows]
    if fits(head, rows, left, width):
        return _side_by_side(head, rows, left)
    from rich.console import Group

    return Group(*(line for row in rows for line in _card(head, row, left)))


def fits(head: Sequence[str], rows: Sequence[Sequence[str]], left: int, width: int) -> bool:
    """True if so many columns of a terminal are enough, with texts broken as far as they may be."""
    return _least_width(head, rows, left) <= width


def _least_width(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> int:
    needed = 0
    for place, title in enumerate(head):
        longest = max((len(row[place]) for row in rows), default=0)
        if place < left or _is_sentences(rows, place):
            longest = min(longest, _LEAST_TEXT)
        needed += max(longest, *(len(word) for word in title.split() or [""]))
    return needed + _BETWEEN * (len(head) - 1)


def _is_sentences(rows: Sequence[Sequence[str]], place: int) -> bool:
    return any(row[place].count(" ") > _BETWEEN for row in rows)


def _side_by_side(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> "RenderableType":
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, _BETWEEN, 0, 0))
    for place, title in enumerate(head):
        is_text = place < left or _is_sentences(rows, place)
        widest = max((len(row[place]) for row in rows), default=0)
        least = min(widest, _LEAST_TEXT) if is_text else widest
        justify = "left" if is_text else "right"
        drawn.add_column(title, justify=justify, overflow="fold", min_width=least)  # type: ignore[arg-type]
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn


def _card(head: Sequence[str], row: Sequence[str], left: int) -> "Iterator[Text]":
    from rich.text import Text

    names = [cell.strip() for place, cell in enumerate(row) if cell.strip() and (place < left or not head[place])]
    yield Text(", ".join(names), "bold")
    for title, cell in zip(head[left:], row[left:], strict=True):
        if title and cell.strip():
            yield Text(f"  {title}: {cell.strip()}")
