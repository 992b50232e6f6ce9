"""An invoice beside the charges of a month: the difference of each category, and what may explain it.

An explanation is put forward only if its own amount fits: what a known cause costs, or a count that the price turns
into the difference. Otherwise the difference is left unexplained, and said to be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vmtrace.providers.costs.quantities import CATEGORIES, TOTAL, Charges
from vmtrace.providers.rates import GB_BYTES, MINIMUM_DAYS, RateTable

_CENT = 0.01
_CLOSE = 0.005
"""Of a ratio, for two gigabytes to be the reason."""
_MOST_LISTINGS = 1e9


@dataclass(frozen=True, slots=True)
class Difference:
    """One category of a month."""

    category: str
    predicted: float | None
    invoiced: float | None
    difference: float | None
    """Invoiced less predicted; None where one of the two is unknown."""
    difference_share: float | None
    explanations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """One category, and what is known of it all."""

    charges: Charges
    table: RateTable
    retries: float
    category: str
    predicted: float
    invoiced: float

    @property
    def difference(self) -> float:
        return self.invoiced - self.predicted


def differences(
    charges: Charges, invoiced: Mapping[str, float], table: RateTable, retries: float = 0
) -> list[Difference]:
    """All categories and the total; `retries` are those a month among the requests."""
    reported = dict(invoiced)
    if TOTAL not in reported and all(name in reported for name in CATEGORIES):
        reported[TOTAL] = sum(reported[name] for name in CATEGORIES)
    return [_difference(charges, table, retries, name, reported.get(name)) for name in (*CATEGORIES, TOTAL)]


def _difference(
    charges: Charges, table: RateTable, retries: float, category: str, invoiced: float | None
) -> Difference:
    predicted = charges.month[category]
    if predicted is None or invoiced is None:
        why = () if invoiced is None else (f"no prediction: missing {', '.join(charges.missing)}",)
        return Difference(category, predicted, invoiced, None, None, why)
    case = _Case(charges, table, retries, category, predicted, invoiced)
    share = case.difference / predicted if predicted else None
    found = tuple(_explanations(case))
    if not found and category != TOTAL:
        found = ("nothing known explains it",)
    return Difference(category, predicted, invoiced, case.difference, share, found)


def _explanations(case: _Case) -> Iterator[str]:
    # Each category is rounded by itself, before they are summed.
    if abs(case.difference) <= _CENT / 2 * (len(CATEGORIES) if case.category == TOTAL else 1):
        yield "rounding to cents"
        return
    if case.category in {"storage", "transfer"}:
        yield from _gigabytes(case)
    if case.category == "storage":
        yield from _minimum_days(case)
    if case.category == "requests":
        yield from _requests(case)
    if case.category == "retrieval" and case.difference > 0:
        yield "archives charge for peaks and for fast retrieval: the table has one price for a gigabyte"


def _gigabytes(case: _Case) -> Iterator[str]:
    other, shown = (2**30, "2^30") if case.table.gb_bytes == GB_BYTES else (GB_BYTES, "10^9")
    expected = case.predicted * case.table.gb_bytes / other
    if expected and abs(case.invoiced / expected - 1) < _CLOSE:
        yield f"a gigabyte of the invoice has {shown} bytes: set gb_bytes of the table to that"


def _minimum_days(case: _Case) -> Iterator[str]:
    early = sum(line.month or 0.0 for line in case.charges.lines if line.price == MINIMUM_DAYS)
    if early and case.difference < 0:
        currency = case.table.currency
        yield f"{early:,.2f} {currency} are predicted for objects deleted before the minimum of storage days"
    least = max((portion.rates.minimum_storage_days or 0.0 for portion in case.charges.scenario.portions), default=0.0)
    if case.difference > 0 and not early and least:
        yield f"objects deleted before {least:g} days are charged until then: give mean_age_days"


def _requests(case: _Case) -> Iterator[str]:
    rates = case.charges.scenario.portions[0].rates
    if case.retries:
        known = [one.dearest for one in map(rates.price, ("read_per_1000", "write_per_1000")) if one]
        most = case.retries / 1000 * max(known, default=0.0)
        yield f"{case.retries:,.0f} retries are among the requests, at most {most:,.4g} {case.table.currency}"
    listing = rates.price("list_per_1000")
    if case.difference > 0 and listing is not None and listing.steps[0].price:
        count = case.difference / listing.steps[0].price * 1000
        if count <= _MOST_LISTINGS:
            yield f"{count:,.0f} listings (or retries of writes) beyond those of the workload would be as much"
