"""The answer of `vmtrace cost` on the terminal: one sentence, scenarios side by side, where they break even, which
prices matter."""

from typing import TYPE_CHECKING

from vmtrace.analyze.tables.table import Table
from vmtrace.analyze.tables.terminal_table import terminal_table
from vmtrace.commands import cost_texts as texts
from vmtrace.providers.costs.differences import Difference
from vmtrace.providers.costs.estimate import Estimate

if TYPE_CHECKING:
    from rich.console import Console


def show(estimate: Estimate, invoiced: dict[str, list[Difference]], console: "Console") -> None:
    """Print it."""
    from rich.text import Text

    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)

    line(estimate.sentence, "bold")
    line(f"  {texts.about(estimate)}")
    for note in estimate.context.workload.notes:
        line(f"  {note}")
    console.print()
    _show_table(console, texts.scenarios(estimate))
    for text in texts.missing(estimate):
        line(f"  {text}", "yellow")
    for text in texts.notes(estimate):
        line(f"  {text}")
    if estimate.points:
        console.print()
        line("Break-even", "bold")
        for text in texts.break_even(estimate):
            line(f"  {text}")
    console.print()
    _show_table(console, texts.sensitivity(estimate))
    for table in texts.invoices(estimate, invoiced):
        console.print()
        _show_table(console, table)


def _show_table(console: "Console", table: Table) -> None:
    from rich.text import Text

    console.print(Text(table.title, "bold"), soft_wrap=True)
    console.print(terminal_table(table, console.width))
