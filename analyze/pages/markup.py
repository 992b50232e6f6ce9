"""Tables of a report's page as markup, and numbers with their intervals as its text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from analyze.stats.estimates import Estimate
from analyze.units import ABSENT, printable


def table(head: Sequence[str], rows: Iterable[tuple[list[str], bool]], left: Sequence[int] = ()) -> str:
    """Rows of text, each with whether it is one of totals. The first column and those in `left` begin at the left."""
    begins_left = {0, *left}

    def cells(texts: Sequence[str], tag: str) -> str:
        marks = ((' class="left"' if place in begins_left else "") for place in range(len(texts)))
        return "".join(f"<{tag}{mark}>{escape(text)}</{tag}>" for mark, text in zip(marks, texts, strict=True))

    marked = ((' class="total"' if total else "", texts) for texts, total in rows)
    body = "".join(f"<tr{mark}>{cells(texts, 'td')}</tr>" for mark, texts in marked)
    return f'<div class="scroll"><table><thead><tr>{cells(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that can be sorted."""

    text: str
    key: float | None = None
    """The number that rows are sorted by; without one, or with a text that says it is absent, the text."""
    left: bool = False
    wraps: bool = False
    colour: str | None = None
    """Of a mark before the text."""


def sortable_table(head: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> str:
    """A table whose heads the page's script makes buttons that sort."""
    body = "".join(f"<tr>{''.join(map(_sortable, row))}</tr>" for row in rows)
    titles = "".join(f"<th{_classes(cell)}>{escape(cell.text)}</th>" for cell in head)
    content = f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table class="sortable">{content}</table></div>'


def _sortable(cell: Cell) -> str:
    # What is absent has an empty key: it comes last, whichever way numbers are sorted.
    key = "" if cell.left else f' data-key="{"" if cell.key is None else repr(float(cell.key))}"'
    mark = f'<i class="mark" style="background:{escape(cell.colour)}"></i>' if cell.colour else ""
    return f"<td{_classes(cell)}{key}>{mark}{escape(cell.text)}</td>"


def _classes(cell: Cell) -> str:
    names = [name for name, there in (("left", cell.left), ("wraps", cell.wraps)) if there]
    return f' class="{" ".join(names)}"' if names else ""


def index_name(index: str | None) -> str:
    """Of a row; None is the row over all."""
    return "all" if index is None else printable(index)


def estimate_text(estimate: Estimate, factor: float = 1.0) -> str:
    """The number, and the interval in brackets if there is one."""
    if estimate.low is None or estimate.high is None:
        return number_text(estimate.value, factor)
    value, low, high = (number_text(one, factor) for one in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def number_text(value: float | None, factor: float = 1.0) -> str:
    """Three digits, or a whole number from 1000 on."""
    if value is None:
        return ABSENT
    return f"{value * factor:.3g}" if abs(value * factor) < 1000 else f"{value * factor:,.0f}"
