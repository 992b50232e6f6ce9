"""The short answer about discovery runs on the terminal."""

from typing import TYPE_CHECKING

from vmtrace.analyze.reports.discovery.report import Report
from vmtrace.analyze.reports.discovery.texts import heading, tables, trouble
from vmtrace.analyze.tables.terminal_table import terminal_table

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = ("regions", "round-trips", "names", "vantages")
"""Front ends and evidence are on the page, in JSON and in CSV."""
_TROUBLE_SHOWN = 20


def show(report: Report, console: "Console") -> None:
    """Print the answer."""
    from rich.text import Text

    console.print(Text(heading(report), "bold"), soft_wrap=True)
    lines = list(trouble(report))
    for line in lines[:_TROUBLE_SHOWN]:
        console.print(Text(f"  {line}", "yellow"), soft_wrap=True)
    if len(lines) > _TROUBLE_SHOWN:
        console.print(Text(f"  and {len(lines) - _TROUBLE_SHOWN} more (in --json and --html)", "yellow"))
    for table in tables(report):
        if table.name in _SHOWN:
            console.print()
            console.print(Text(table.title, "bold"))
            console.print(terminal_table(table, console.width, several=True))
