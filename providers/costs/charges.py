"""Puts prices on what scenarios use: the first month, and the twelve months from now, in which what is stored grows.

Steps by volume hold for what one bill covers: a month, or as many months as the workload says. A price that is missing
makes its category and the total None, if anything of it is used; what is not used costs nothing at any price.
"""

from collections.abc import Callable, Iterator, Sequence

from vmtrace.providers.costs.quantities import CATEGORIES, MONTHS, TOTAL, Charges, Line, Portion, Scenario, Usage
from vmtrace.providers.rates import PEAK, PEAK_HOURS

_PRICED: tuple[tuple[str, str, Callable[[Usage], float]], ...] = (
    ("upload_per_gb", "transfer", lambda used: used.uploaded_gb),
    ("download_per_gb", "transfer", lambda used: used.downloaded_gb),
    ("same_region_per_gb", "transfer", lambda used: used.same_region_gb),
    ("write_per_1000", "requests", lambda used: used.write_requests / 1000),
    ("list_per_1000", "requests", lambda used: used.list_requests / 1000),
    ("read_per_1000", "requests", lambda used: used.read_requests / 1000),
    ("delete_per_1000", "requests", lambda used: used.delete_requests / 1000),
    ("retrieval_per_gb", "retrieval", lambda used: used.retrieved_gb),
    ("compute_per_hour", "compute", lambda used: used.compute_hours),
)
"""Price, category, and how many units of it a month has. Storage is reckoned apart: it grows from month to month."""
_STORAGE = "storage_per_gb_month"


def charges_of(scenario: Scenario) -> Charges:
    """What a scenario costs."""
    lines = tuple(line for portion in scenario.portions for line in _lines(portion, scenario.billed_months))
    if scenario.own_storage:
        own = scenario.own_storage
        lines = (*lines, Line("local cache", "own storage", "storage", 1.0, own, own * MONTHS))
    missing = [f"{line.label}: {line.price}" for line in lines if line.month is None]
    missing += [name for name in scenario.missing if name not in missing]
    month = _sums([(line.category, line.month) for line in lines], scenario)
    year = _sums([(line.category, line.year) for line in lines], scenario)
    return Charges(scenario, month, year, lines, tuple(dict.fromkeys(missing)))


def monthly_totals(charges: Charges) -> list[float] | None:
    """What each of the next twelve months costs; None where there is no total."""
    if charges.year_total is None:
        return None
    steady = sum(line.month or 0.0 for line in charges.lines if line.price != _STORAGE)
    totals = [steady] * MONTHS
    for portion in charges.scenario.portions:
        for month, amount in enumerate(_storage_amounts(portion) or ()):
            totals[month] += amount
    return totals


def _sums(amounts: Sequence[tuple[str, float | None]], scenario: Scenario) -> dict[str, float | None]:
    sums: dict[str, float | None] = {}
    for category in CATEGORIES:
        own = [amount for name, amount in amounts if name == category]
        sums[category] = _total(own)
    sums[TOTAL] = None if scenario.missing else _total(list(sums.values()))
    return sums


def _total(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _lines(portion: Portion, billed_months: float) -> Iterator[Line]:
    yield from _storage_lines(portion)
    yield from _peak_lines(portion)
    for name, category, units_of in _PRICED:
        units = units_of(portion.usage)
        price = portion.rates.price(name)
        if units == 0 or (name == "retrieval_per_gb" and price is None and portion.rates.price(PEAK) is not None):
            continue
        month = None if price is None else price.amount(units * billed_months) / billed_months
        year = None if month is None else month * MONTHS
        yield Line(portion.rates.label, name, category, units, month, year)


def _peak_lines(portion: Portion) -> Iterator[Line]:
    """Of services that charge the highest rate of a month for all its hours; without the rate the charge is unknown."""
    used, price = portion.usage, portion.rates.price(PEAK)
    if price is None or not used.retrieved_gb:
        return
    peak = used.retrieved_peak_gb_per_hour
    if peak is None:
        yield Line(portion.rates.label, "retrieved_peak_gb_per_hour", "retrieval", 0.0, None, None)
        return
    free = used.stored_gb * portion.rates.retrieval_free_share / PEAK_HOURS
    units = max(peak - free, 0.0) * PEAK_HOURS
    month = price.amount(units)
    yield Line(portion.rates.label, PEAK, "retrieval", units, month, month * MONTHS)


def _storage_lines(portion: Portion) -> Iterator[Line]:
    used, label, price = portion.usage, portion.rates.label, portion.rates.price(_STORAGE)
    volumes = _volumes(used)
    if any(volumes):
        amounts = _storage_amounts(portion)
        first, year = (None, None) if amounts is None else (amounts[0], sum(amounts))
        yield Line(label, _STORAGE, "storage", volumes[0], first, year)
    if used.early_gb_months is None:
        yield Line(label, "minimum_storage_days", "storage", 0.0, None, None)
    elif used.early_gb_months:
        # On top of all that is stored, at the price that the next gigabyte has.
        extra = None if price is None else price.amount(volumes[0] + used.early_gb_months) - price.amount(volumes[0])
        year = None if extra is None else extra * MONTHS
        yield Line(label, "minimum_storage_days", "storage", used.early_gb_months, extra, year)


def _volumes(used: Usage) -> list[float]:
    """On average over each month: what is there at its beginning, and half of what the month adds."""
    return [used.stored_gb + used.growth_gb_per_month * (month + 0.5) for month in range(MONTHS)]


def _storage_amounts(portion: Portion) -> list[float] | None:
    """Of each month; None where the price is missing."""
    price = portion.rates.price(_STORAGE)
    return None if price is None else [price.amount(volume) for volume in _volumes(portion.usage)]
