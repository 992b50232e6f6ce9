"""An invoice beside the charges of a month: the difference of each category, and what may explain it.

An explanation is put forward only if its own amount fits: what a known cause costs, or a count that the price turns
into the difference. Otherwise the difference is left unexplained, and said to be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from providers.costs.quantities import CATEGORIES, TOTAL, Charges
from providers.rates import Price

_CENT = 0.01
_GB_RATIO = 2**30 / 10**9
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


def differences(charges: Charges, invoiced: Mapping[str, float], currency: str, retries: float = 0) -> list[Difference]:
    """All categories and the total; `retries` are those a month among the requests."""
    told = dict(invoiced)
    if TOTAL not in told and all(name in told for name in CATEGORIES):
        told[TOTAL] = sum(told[name] for name in CATEGORIES)
    return [_difference(charges, name, told.get(name), currency, retries) for name in (*CATEGORIES, TOTAL)]


def _difference(charges: Charges, category: str, invoiced: float | None, currency: str, retries: float) -> Difference:
    predicted = charges.month[category]
    if predicted is None or invoiced is None:
        why = () if invoiced is None else (f"not predicted: missing {', '.join(charges.missing)}",)
        return Difference(category, predicted, invoiced, None, None, why)
    difference = invoiced - predicted
    share = difference / predicted if predicted else None
    found = tuple(_explanations(charges, category, predicted, invoiced, currency, retries))
    if not found and category != TOTAL:
        found = ("nothing known explains it",)
    return Difference(category, predicted, invoiced, difference, share, found)


def _explanations(
    charges: Charges, category: str, predicted: float, invoiced: float, currency: str, retries: float
) -> Iterator[str]:
    difference = invoiced - predicted
    if abs(difference) <= _CENT / 2 * (1 if category != TOTAL else len(CATEGORIES)):
        yield "rounding to cents"
        return
    if category in {"storage", "transfer"}:
        yield from _gigabytes(predicted, invoiced)
    if category == "storage":
        yield from _minimum_days(charges, difference, currency)
    if category == "requests":
        yield from _requests(charges, difference, currency, retries)
    if category == "retrieval" and difference > 0:
        yield "archives charge for peaks and for fast retrieval: the table has one price for a gigabyte"


def _gigabytes(predicted: float, invoiced: float) -> Iterator[str]:
    ratio = invoiced / predicted if predicted else 0.0
    if abs(ratio * _GB_RATIO - 1) < _CLOSE:
        yield "gigabytes of 2^30 bytes: the table counts 10^9 (gb_bytes)"
    elif abs(ratio / _GB_RATIO - 1) < _CLOSE:
        yield "gigabytes of 10^9 bytes: the table counts 2^30 (gb_bytes)"


def _minimum_days(charges: Charges, difference: float, currency: str) -> Iterator[str]:
    early = [line.month for line in charges.lines if line.price == "minimum_storage_days" and line.month]
    if early and difference < 0:
        yield f"{sum(early):,.2f} {currency} are predicted for objects deleted before the minimum of storage days"
    days = [portion.rates.minimum_storage_days for portion in charges.scenario.portions]
    if difference > 0 and not early and any(days):
        least = max(day or 0 for day in days)
        yield f"objects deleted before {least:g} days are charged until then: give mean_age_days"


def _requests(charges: Charges, difference: float, currency: str, retries: float) -> Iterator[str]:
    rates = charges.scenario.portions[0].rates
    if retries:
        dearest = max(
            (one.dearest for one in map(rates.price, ("read_per_1000", "write_per_1000")) if one), default=0.0
        )
        yield f"{retries:,.0f} retries are among the requests, at most {retries / 1000 * dearest:,.4g} {currency}"
    listing = rates.price("list_per_1000")
    if difference > 0 and listing is not None:
        yield from _listings(charges, listing, difference)


def _listings(charges: Charges, listing: Price, difference: float) -> Iterator[str]:
    counted = any(line.price == "list_per_1000" for line in charges.lines)
    price = listing.steps[0].price
    if price and (count := difference / price * 1000) <= _MOST_LISTINGS:
        more = "more listings" if counted else "listings, of which the workload has none,"
        yield f"{count:,.0f} {more} (or as many retries of writes) would be the difference"
