"""The answer on the terminal: one sentence, scenarios side by side, where they break even, which prices matter."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from providers.costs.break_even import shown_number
from providers.costs.differences import Difference
from providers.costs.estimate import Estimate
from providers.costs.quantities import CATEGORIES, TOTAL, Charges

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNKNOWN = "unknown"
_SMALL_SHARE = 0.001
"""Of a total: what a tenth of a price changes less than this is left to the JSON."""


def show(estimate: Estimate, invoiced: dict[str, list[Difference]], console: "Console") -> None:
    """Print it."""
    from rich.text import Text

    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)

    table = estimate.context.table
    line(estimate.sentence, "bold")
    line(f"  {estimate.context.workload.name} at {estimate.context.rates.label}, prices {table.name} ({table.source})")
    for note in estimate.context.workload.notes:
        line(f"  {note}")
    console.print()
    _show_table(console, f"{table.currency} by scenario", _charges(estimate))
    for charges in estimate.charged:
        for what in charges.missing:
            line(f"  {charges.scenario.name}: no total, because {what} is missing", "yellow")
        for note in charges.scenario.notes:
            line(f"  {charges.scenario.name}: {note}")
    if estimate.points:
        console.print()
        line("Break-even", "bold")
        for point in estimate.points:
            now = "" if point.now is None else f"; here {shown_number(point.now, point.unit)}"
            line(f"  {point.sentence}{now}")
    console.print()
    _show_table(console, "Sensitivity: a price 10 % higher", _sensitivity(estimate))
    for name, rows in invoiced.items():
        console.print()
        _show_table(console, f"Invoice of a month against {name} ({table.currency})", _invoice(rows))


def _show_table(console: "Console", title: str, table: "Table") -> None:
    from rich.text import Text

    console.print(Text(title, "bold"))
    console.print(table)


def _table(head: Sequence[str], left: int = 1) -> "Table":
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, title in enumerate(head):
        made.add_column(title, justify="left" if place < left else "right", overflow="fold")
    return made


def _charges(estimate: Estimate) -> "Table":
    made = _table(("scenario", "", *CATEGORIES, TOTAL, "against first"))
    for charges in estimate.charged:
        made.add_row(charges.scenario.name, "month", *_amounts(charges.month), "")
        made.add_row(_aside(estimate, charges), "year", *_amounts(charges.year), _against(charges, estimate.base))
    return made


def _aside(estimate: Estimate, charges: Charges) -> str:
    parts = []
    if charges.scenario.byte_hit_ratio is not None:
        ratio = charges.scenario.hit_ratio
        requests = "" if ratio is None else f"{ratio:.1%} of requests, "
        parts.append(f"hits: {requests}{charges.scenario.byte_hit_ratio:.1%} of bytes")
    per_job = estimate.per_job(charges)
    if per_job is not None:
        parts.append(f"{per_job:,.2f} a job")
    return f"  {'; '.join(parts)}" if parts else ""


def _amounts(amounts: dict[str, float | None]) -> list[str]:
    return [shown(amounts[name]) for name in (*CATEGORIES, TOTAL)]


def shown(amount: float | None) -> str:
    """Money: cents, and more decimals where cents would show nothing."""
    if amount is None:
        return UNKNOWN
    return f"{amount:,.2f}" if amount == 0 or abs(amount) >= 0.01 else f"{amount:.2g}"


def _against(charges: Charges, base: Charges) -> str:
    if charges is base or charges.year_total is None or not base.year_total:
        return ""
    return f"{charges.year_total / base.year_total - 1:+.1%}"


def _sensitivity(estimate: Estimate) -> "Table":
    made = _table(("scenario", "price", "year", "of the total", "as expensive as the first at"), left=2)
    for row in estimate.sensitivity:
        if row.share is not None and abs(row.share) >= _SMALL_SHARE:
            factor = row.equal_at_factor
            equal = "" if factor is None else f"{factor:.3g} x the price"
            made.add_row(row.scenario, row.price, _signed(row.year_change), f"{row.share:+.1%}", equal)
    return made


def _signed(amount: float | None) -> str:
    return UNKNOWN if amount is None else f"{amount:+,.2f}"


def _invoice(rows: Sequence[Difference]) -> "Table":
    from rich.text import Text

    made = _table(("category", "predicted", "invoiced", "difference", "", "why"))
    made.columns[-1].justify = "left"
    for row in rows:
        share = "" if row.difference_share is None else f"{row.difference_share:+.1%}"
        invoiced = "not in it" if row.invoiced is None else shown(row.invoiced)
        why = Text("; ".join(row.explanations))
        difference = "" if row.difference is None else _signed(row.difference)
        made.add_row(row.category, shown(row.predicted), invoiced, difference, share, why)
    return made
