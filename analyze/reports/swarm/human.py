"""The short answer about swarm runs on the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vmtrace.analyze.reports.swarm.tables import Report
from vmtrace.analyze.reports.swarm.texts import facts, heading, tables, trouble
from vmtrace.analyze.tables.terminal_table import terminal_table

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = ("by_seeds", "private", "sources", "capacities", "charges")
"""The others are on the page, in JSON and in CSV."""
_MOST_TROUBLES = 12


def show(reports: Sequence[Report], console: "Console") -> None:
    """Print the answer for these runs."""
    from rich.text import Text

    for report in reports:
        console.print(Text(heading(report), "bold"), soft_wrap=True)
        for line in facts(report):
            console.print(Text(f"  {line}"), soft_wrap=True)
        wrong = list(trouble(report))
        if len(wrong) > _MOST_TROUBLES:
            wrong[_MOST_TROUBLES:] = [f"and {len(wrong) - _MOST_TROUBLES} more lines: see --html or --json"]
        for line in wrong:
            console.print(Text(f"  {line}", "yellow"), soft_wrap=True)
    for table in tables(reports):
        if table.name in _SHOWN:
            console.print()
            console.print(Text(table.title, "bold"))
            console.print(terminal_table(table, console.width, several=len(reports) > 1))
