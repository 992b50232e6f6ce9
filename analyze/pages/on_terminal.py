"""The parts of a report on the terminal: lines with what was run and what is wrong, then tables under their titles."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.tables.table import Table
from vmtrace.analyze.tables.terminal_table import terminal_table

if TYPE_CHECKING:
    from rich.console import Console

Part = Lines | Table


def show(parts: Iterable[Part], console: "Console", *, several: bool = True) -> None:
    """Print them; with one run (not `several`) tables have no column of runs."""
    from rich.text import Text

    for part in parts:
        if isinstance(part, Lines):
            if part.title:
                console.print(Text(part.title, "bold"), soft_wrap=True)
            for line in part.troubles:
                console.print(Text(f"  {line}", "yellow"), soft_wrap=True)
            for line in part.items:
                console.print(Text(f"  {line}"), soft_wrap=True)
        elif part.rows:
            console.print()
            console.print(Text(part.title, "bold"))
            console.print(terminal_table(part, console.width, several=several))
