"""A table, declared once for the terminal, for pages and for files: its columns, its rows, and what stands above it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    text: str
    key: float | None = None
    """The number behind the text, by which rows are sorted. In a column of numbers None comes last."""
    colour: str | None = None
    """Of a mark before the text."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Record]):
    """A column: what it is called, what it shows of a record, and how it is laid out.

    Texts begin at the left, numbers end at the right; long texts wrap.
    """

    title: str
    shows: Callable[[Record], Cell | str] = str
    left: bool = False
    wraps: bool = False
    least_width: int = 0
    """A terminal narrower than this leaves the column out; files have it."""
    rank: int = 0
    """Where columns give way to others: those of low rank stay, those of higher ranks are there where there is room."""
    absent: str = ""
    """What a dash in it means."""
    warns: Callable[[Record], bool] = lambda _record: False
    """True of a record whose cell tells of trouble: it is coloured then."""


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns. `id` is the target of a link, as from a point of a figure."""

    cells: tuple[Cell | str, ...]
    total: bool = False
    id: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells as they are read."""
        return tuple(cell if isinstance(cell, str) else cell.text for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads. One that is `sortable` has a search and shows its rows page by page, if there are many."""

    columns: tuple[Column[Any], ...]
    rows: tuple[Row, ...]
    sortable: bool = False
    name: str = ""
    title: str = ""
    hint: str = ""
    kind: ClassVar[str] = "table"

    @property
    def head(self) -> tuple[str, ...]:
        """The titles of the columns."""
        return tuple(column.title for column in self.columns)


def shown(
    columns: Sequence[Column[Record]],
    records: Iterable[Record],
    *,
    total: Callable[[Record], bool] = lambda _: False,
    row_id: Callable[[Record], str] = lambda _: "",
    sortable: bool = False,
) -> Table:
    """What the columns show of each record; `total` says of which the row is one of totals."""
    rows = [Row(tuple(one.shows(record) for one in columns), total(record), row_id(record)) for record in records]
    return Table(tuple(columns), tuple(rows), sortable)


def of_texts(
    name: str, title: str, head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 2, hint: str = ""
) -> Table:
    """A table of texts of which the first `left` columns begin at the left."""
    columns: tuple[Column[Any], ...] = tuple(Column(text, left=place < left) for place, text in enumerate(head))
    return Table(columns, tuple(Row(tuple(cells)) for cells in rows), name=name, title=title, hint=hint)
