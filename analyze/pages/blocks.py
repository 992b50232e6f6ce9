"""What a page can show, as plain values. Whoever reports makes these; only the templates know HTML.

Every text is shown as it is: a file name with markup in it appears as that text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.tables.table import Table
from vmtrace.analyze.words.palette import Hatch
from vmtrace.formats.quantities import plural

Look = Literal["plain", "sentence", "hint", "trouble"]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph. The `sentence` of a page is its answer, in large letters."""

    text: str
    look: Look = "plain"
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class Lines:
    """A list, with a title above it if there is one. `troubles` come first and stand out."""

    items: tuple[str, ...]
    title: str = ""
    troubles: tuple[str, ...] = ()
    kind: ClassVar[str] = "lines"


@dataclass(frozen=True, slots=True)
class Figures:
    """Charts, one under the other, or `beside` each other where there is room."""

    charts: tuple[Chart, ...]
    height: int | None = None
    """Of each panel in pixels; None takes the usual one."""
    beside: bool = False
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, drawn as wide as its share."""

    name: str
    share: float
    text: str
    colour: str
    hatch: Hatch = "plain"


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of one whole as a bar with its legend; `label` says of what."""

    label: str
    parts: tuple[Share, ...]
    kind: ClassVar[str] = "shares"


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind one line, which says how many there are or why one would open it."""

    summary: str
    blocks: "tuple[Block, ...]"
    id: str = ""
    kind: ClassVar[str] = "fold"


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks under a heading of their own within a section: one of several runs."""

    title: str
    blocks: "tuple[Block, ...]"
    kind: ClassVar[str] = "group"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing that the program made itself, a map say, as SVG: the one block that is put in as markup.

    Whoever makes it escapes every text in it.
    """

    svg: str
    caption: str = ""
    kind: ClassVar[str] = "drawing"


Block = Text | Lines | Table | Figures | Shares | Fold | Group | Drawing


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a heading. One that is `wide` is printed across the paper."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    hint: str = ""
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A report, the same parts in the same order whatever it is on:

    what was measured (`title`, `facts`); the `answer` on the first screen: the result in a sentence with its number,
    and the chart that shows it; then `sections`: charts, tables, what was looked at. Behind folds is whatever has a
    line for each transfer.
    """

    title: str
    answer: tuple[Block, ...]
    sections: tuple[Section, ...]
    provenance: object
    facts: tuple[str, ...] = ()
    """Short ones in one line under the title."""


def charts_of(page: Page) -> list[Chart]:
    """All charts of a page, in the order in which they are shown."""
    return [chart for blocks in (page.answer, *(one.blocks for one in page.sections)) for chart in _charts(blocks)]


def _charts(blocks: Iterable[Block]) -> list[Chart]:
    found = list[Chart]()
    for block in blocks:
        if isinstance(block, Figures):
            found += block.charts
        elif isinstance(block, (Fold, Group)):
            found += _charts(block.blocks)
    return found


_LINES_SHOWN = 4
_TROUBLES_SHOWN = 3


def summary(title: str, troubles: Sequence[str], items: Sequence[str], what: str = "result") -> tuple[Block, ...]:
    """A list of which only the first lines are in sight: `items` of `what`, and warnings before them."""
    shown = Lines(tuple(items[:_LINES_SHOWN]), title=title, troubles=tuple(troubles[:_TROUBLES_SHOWN]))
    more_troubles, more = tuple(troubles[_TROUBLES_SHOWN:]), tuple(items[_LINES_SHOWN:])
    counts = [plural(len(more_troubles), "more warning")] if more_troubles else []
    counts += [plural(len(more), f"more {what}")] if more else []
    if not counts:
        return (shown,) if title or troubles or items else ()
    return shown, Fold(" and ".join(counts), (Lines(more, troubles=more_troubles),))
