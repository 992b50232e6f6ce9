"""An estimate in words: tables and notes, the same on the terminal and on the page."""

from collections.abc import Iterator, Mapping, Sequence

from vmtrace.analyze.tables.table import Table, of_texts
from vmtrace.providers.costs.break_even import shown_number
from vmtrace.providers.costs.differences import Difference
from vmtrace.providers.costs.estimate import Estimate
from vmtrace.providers.costs.quantities import CATEGORIES, TOTAL, Charges

UNKNOWN = "unknown"
_SMALL_SHARE = 0.001
"""Of a total: what a tenth of a price changes less than this is left to the JSON."""


def about(estimate: Estimate) -> str:
    """Workload, service and prices, in one line."""
    table, workload = estimate.context.table, estimate.context.workload
    return f"{workload.name} at {estimate.context.rates.label}, prices {table.name} ({table.source})"


def missing(estimate: Estimate) -> Iterator[str]:
    """Why a scenario has no total."""
    for charges in estimate.charged:
        yield from (f"{charges.scenario.name}: no total, because {what} is missing" for what in charges.missing)


def notes(estimate: Estimate) -> Iterator[str]:
    """What scenarios assume."""
    for charges in estimate.charged:
        yield from (f"{charges.scenario.name}: {note}" for note in charges.scenario.notes)


def break_even(estimate: Estimate) -> Iterator[str]:
    """Where a way of running the workload starts or stops to pay."""
    for point in estimate.points:
        now = "" if point.now is None else f"; here {shown_number(point.now, point.unit)}"
        yield f"{point.sentence}{now}"


def scenarios(estimate: Estimate) -> Table:
    """All of them, by month and year."""
    rows = []
    for charges in estimate.charged:
        rows.append((charges.scenario.name, "month", *_amounts(charges.month), ""))
        rows.append((_aside(estimate, charges), "year", *_amounts(charges.year), _against(charges, estimate.base)))
    title = f"{estimate.context.table.currency} by scenario"
    return of_texts("scenarios", title, ("scenario", "per", *CATEGORIES, TOTAL, "against first"), rows, 1)


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


def _amounts(amounts: Mapping[str, float | None]) -> list[str]:
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


def sensitivity(estimate: Estimate) -> Table:
    """What a tenth of each price changes."""
    rows = []
    for row in estimate.sensitivity:
        if row.share is not None and abs(row.share) >= _SMALL_SHARE:
            equal = "" if row.equal_at_factor is None else f"{row.equal_at_factor:.3g} x the price"
            rows.append((row.scenario, row.price, _signed(row.year_change), f"{row.share:+.1%}", equal))
    head = ("scenario", "price", "year", "of the total", "as expensive as the first at")
    return of_texts("sensitivity", "Sensitivity: a price 10 % higher", head, rows)


def _signed(amount: float | None) -> str:
    return UNKNOWN if amount is None else f"{amount:+,.2f}"


def invoices(estimate: Estimate, invoiced: Mapping[str, Sequence[Difference]]) -> Iterator[Table]:
    """A table for each scenario with an invoice."""
    head = ("category", "predicted", "invoiced", "difference", "", "why")
    for number, (name, rows) in enumerate(invoiced.items(), 1):
        title = f"Invoice of a month against {name} ({estimate.context.table.currency})"
        yield of_texts(f"invoice-{number}", title, head, map(_invoiced, rows), 1)


def _invoiced(row: Difference) -> tuple[str, ...]:
    share = "" if row.difference_share is None else f"{row.difference_share:+.1%}"
    invoiced = "not in it" if row.invoiced is None else shown(row.invoiced)
    difference = "" if row.difference is None else _signed(row.difference)
    return row.category, shown(row.predicted), invoiced, difference, share, "; ".join(row.explanations)


def lines(estimate: Estimate) -> Table:
    """Each price with what is used of it."""
    rows = tuple(
        (charges.scenario.name, line.label, line.price, line.category, f"{line.units:,.6g}", shown(line.month),
         shown(line.year))
        for charges in estimate.charged for line in charges.lines
    )  # fmt: skip
    head = ("scenario", "price row", "price", "category", "units a month", "month", "year")
    return of_texts("lines", f"Each price put on what is used of it ({estimate.context.table.currency})", head, rows, 4)
