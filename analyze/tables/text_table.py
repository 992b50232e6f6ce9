"""A table in words: the same on the terminal and on the page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """The first `left` columns begin at the left."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 2
    hint: str = ""
