"""The short answer about storage runs on the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vmtrace.analyze.reports.storage.campaign_texts import shown
from vmtrace.analyze.reports.storage.tables import Report
from vmtrace.analyze.reports.storage.texts import facts, heading, tables, trouble
from vmtrace.analyze.tables.terminal_table import terminal_table

if TYPE_CHECKING:
    from rich.console import Console

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
            console.print(terminal_table(table, console.width, several=len(reports) > 1))


def _has_trouble(report: Report) -> bool:
    return any(row.retries or row.errors or row.failed or row.transactions_failed for row in report.troubles)
