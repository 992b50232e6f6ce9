"""The answer on the terminal: one sentence, scenarios side by side, where they break even, which prices matter."""

from typing import TYPE_CHECKING

from providers.costs import texts
from providers.costs.differences import Difference
from providers.costs.estimate import Estimate
from providers.costs.texts import Sheet

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


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
    for sheet in texts.invoices(estimate, invoiced):
        console.print()
        _show_table(console, sheet)


def _show_table(console: "Console", sheet: Sheet) -> None:
    from rich.text import Text

    console.print(Text(sheet.title, "bold"))
    console.print(_table(sheet))


def _table(sheet: Sheet) -> "Table":
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, title in enumerate(sheet.head):
        begins_left = place < sheet.left or (sheet.explains and place == len(sheet.head) - 1)
        made.add_column(title, justify="left" if begins_left else "right", overflow="fold")
    for row in sheet.rows:
        made.add_row(*map(Text, row))
    return made
