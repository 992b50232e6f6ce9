"""Cuts the human answer to one screen: every table keeps its head, and what is left out is counted.

Stands between what prints an answer and the terminal; `--all` goes around it. Of a run of connection pairs
`analyze/reports/run/human_short.py` chooses by meaning instead: it is the answer that most people ask for.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

MOST_LINES = 36
"""Of one answer: with the place of the page and the prompt it is what a terminal of 40 lines shows."""
_HEAD_LINES = 3
"""The title of a table, its head and a row."""


def on_one_screen(show: "Callable[[Console], None]", most_lines: int = MOST_LINES) -> "Callable[[Console], None]":
    """`show`, with what does not fit left out and counted."""

    def shown(console: "Console") -> None:
        with console.capture() as captured:
            show(console)
        console.file.write("".join(f"{line}\n" for line in shortened(captured.get().splitlines(), most_lines)))

    return shown


def shortened(lines: Sequence[str], most_lines: int = MOST_LINES) -> list[str]:
    """The lines of an answer cut to so many. Empty lines part its tables.

    Tables come in their order: each with its head while there is room, and then with as many rows as the screen has.
    """
    if len(lines) <= most_lines:
        return list(lines)
    tables = [list(group) for empty, group in groupby(lines, key=lambda line: not line.strip()) if not empty]
    room = most_lines - 1  # the line that counts what is left out
    heights: list[int] = []
    for table in tables:
        height = min(len(table), _HEAD_LINES)
        if sum(heights) + len(heights) + height > room:
            break
        heights.append(height)
    # Each but the first has an empty line before it.
    room -= sum(heights) + len(heights) - 1
    for place, table in enumerate(tables[: len(heights)]):
        more = min(room, len(table) - heights[place])
        heights[place] += more
        room -= more
    shown: list[str] = []
    for table, height in zip(tables, heights, strict=False):
        shown += [""] * bool(shown) + table[:height]
    left = sum(map(len, tables)) - sum(heights)
    return [*shown, f"{left} more lines: --all shows them"]
