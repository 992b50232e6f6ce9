"""The short answer about storage runs on the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyze.pages.text_table import Table
from analyze.storage.campaign_texts import shown
from analyze.storage.tables import Report
from analyze.storage.texts import facts, heading, tables, trouble

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_SHOWN = ("beside", "throughput", "overhead", "connections", "times", "charges")
"""The others are on the page, in JSON and in CSV; those of retries and of groups come where there is something to
tell."""


def show(reports: Sequence[Report], console: "Console") -> None:
    """Print the answer for these runs."""
    from rich.text import Text

    for report in reports:
        console.print(Text(heading(report), "bold"), soft_wrap=True)
        for line in trouble(report):
            console.print(Text(f"  {line}", "yellow"), soft_wrap=True)
        for line in facts(report):
            console.print(Text(f"  {line}"), soft_wrap=True)
    campaigns = [report.campaign for report in reports if report.campaign is not None]
    wanted = {*_SHOWN, *shown(campaigns), *(("troubles",) if any(map(_has_trouble, reports)) else ())}
    for table in tables(reports):
        if table.name in wanted:
            console.print()
            console.print(Text(table.title, "bold"))
            console.print(rich_table(table, several=len(reports) > 1))


def _has_trouble(report: Report) -> bool:
    return any(row.retries or row.errors or row.failed or row.transactions_failed for row in report.troubles)


def rich_table(table: Table, *, several: bool) -> "RichTable":
    """For a terminal; without the column of the run where there is only one."""
    from rich.table import Table as RichTable
    from rich.text import Text

    first = 0 if several or table.head[0] != "run" else 1
    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, title in enumerate(table.head[first:], first):
        drawn.add_column(title, justify="left" if place < table.left else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row[first:]))
    return drawn
