"""Tables of texts on a terminal: side by side where it is wide enough, else a card for each row.

No word and no number is ever broken or left out: texts wrap between words. What does not fit even so becomes cards, as
on a phone: the row's name, then each value with the title of its column. Only a column that says so itself
(`Column.least_width`) is left out of a narrow table; a card has it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vmtrace.analyze.tables.table import Row, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

Style = Callable[[Row, int], str]
"""Of a cell, by its row and the place of its column."""

_LEAST_TEXT = 12
"""Letters to which a column of texts shrinks at most; to its longest word, where that is longer."""
_BETWEEN = 2
"""Spaces between two columns."""


def _plain(_row: Row, _place: int) -> str:
    return ""


def terminal_table(table: Table, width: int, *, several: bool = True, style: Style = _plain) -> "RenderableType":
    """For a terminal of so many columns; without the column of the run where there is only one."""
    table = _of_one_run(table, several=several)
    return _side_by_side(table, _widths(table, width), style) if fits(table, width) else cards(table, width)


def cards(table: Table, width: int) -> "RenderableType":
    """Each row as a card."""
    from rich.console import Group
    from rich.text import Text

    lines = (line for row in table.rows for line in enumerate(_card(table, row, width)))
    return Group(*(Text(line, "" if number else "bold") for number, line in lines))


def height(table: Table, width: int) -> int:
    """The lines that it takes."""
    from rich.console import Console

    console = Console(width=width, color_system=None, markup=False)
    return len(console.render_lines(terminal_table(table, width), pad=False))


def fits(table: Table, width: int) -> bool:
    """True if so many columns of a terminal are enough, with texts broken as far as they may be."""
    places = _places(table, width)
    return sum(_column_width(table, place) for place in places) + _BETWEEN * (len(places) - 1) <= width


def _of_one_run(table: Table, *, several: bool) -> Table:
    if several or table.head[0] != "run":
        return table
    return replace(
        table, columns=table.columns[1:], rows=tuple(replace(row, cells=row.cells[1:]) for row in table.rows)
    )


def _places(table: Table, width: int) -> list[int]:
    """Of the columns that a table of this width has."""
    return [place for place, column in enumerate(table.columns) if width >= column.least_width]


def _widths(table: Table, width: int) -> dict[int, int]:
    """By the place of each column: what is left beyond the least goes to those whose texts want it, evenly."""
    found = {place: _column_width(table, place) for place in _places(table, width)}
    wanted = {place: max(len(text) for text in _texts(table, place)) for place in found}
    room = width - sum(found.values()) - _BETWEEN * (len(found) - 1)
    while room > 0 and (narrow := [place for place in found if found[place] < wanted[place]]):
        for place in narrow[:room]:
            found[place] += 1
        room -= len(narrow[:room])
    return found


def _texts(table: Table, place: int) -> list[str]:
    return [table.head[place], *(row.texts[place] for row in table.rows)]


def _column_width(table: Table, place: int) -> int:
    return max(_least_width(table, place), _longest_word(table.head[place]))


def _least_width(table: Table, place: int) -> int:
    texts = [row.texts[place] for row in table.rows]
    longest = max(map(len, texts), default=0)
    if not _is_text(table, place):
        return longest
    return min(longest, max(_LEAST_TEXT, *map(_longest_word, texts), 0))


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _is_text(table: Table, place: int) -> bool:
    return table.columns[place].left or any(row.texts[place].count(" ") > _BETWEEN for row in table.rows)


def _side_by_side(table: Table, widths: dict[int, int], style: Style) -> "RenderableType":
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, _BETWEEN, 0, 0), collapse_padding=True)
    for place, width in widths.items():
        justify = "left" if _is_text(table, place) else "right"
        drawn.add_column(table.head[place], justify=justify, overflow="fold", width=width)  # type: ignore[arg-type]
    for row in table.rows:
        drawn.add_row(*(Text(row.texts[place], style(row, place)) for place in widths))
    return drawn


def _card(table: Table, row: Row, width: int) -> list[str]:
    """The row's name, and beneath it the values: as many in a line as there is room for."""
    cells = [(column, text.strip()) for column, text in zip(table.columns, row.texts, strict=True)]
    name = ", ".join(text for column, text in cells if text and (column.left or not column.title))
    values = [f"{column.title}: {text}" for column, text in cells if text and column.title and not column.left]
    return [name, *_flowing(values, width)]


def _flowing(values: Sequence[str], width: int) -> Iterator[str]:
    line = ""
    for value in values:
        longer = f"{line}; {value}" if line else f"  {value}"
        if line and len(longer) > width:
            yield line
            longer = f"  {value}"
        line = longer
    if line:
        yield line
