"""How much each price matters: what a tenth more or less changes, and where the price would turn the comparison.

A scenario is reckoned again with the price changed, because steps by volume make shares of a bill no slopes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vmtrace.providers.costs.break_even import crossing
from vmtrace.providers.costs.charges import charges_of
from vmtrace.providers.costs.quantities import Charges, Scenario
from vmtrace.providers.rates import PRICES

CHANGE = 0.1
_MOST_FACTOR = 1000.0
"""No price has ever been looked for farther than this from where it is."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Of one scenario to one price; amounts by the year."""

    scenario: str
    price: str
    year_change: float | None
    """With the price a tenth dearer (and, with the opposite sign, a tenth cheaper)."""
    share: float | None
    """That change over the total."""
    equal_at_factor: float | None
    """Times the price at which this scenario costs as much as everything in the store; None: at none."""


def sensitivities(charged: Sequence[Charges]) -> list[Sensitivity]:
    """Every scenario, for every price that it is charged by; `charged` begins with everything in the store."""
    return [_of(one, price, charged[0]) for one in charged for price in PRICES if _uses(one, price)]


def _uses(charges: Charges, price: str) -> bool:
    return any(line.price == price for line in charges.lines)


def _of(charges: Charges, price: str, base: Charges) -> Sensitivity:
    total = charges.year_total
    change = share = None
    if total is not None:
        dearer = _total(charges.scenario, price, 1 + CHANGE)
        change = None if dearer is None else dearer - total
        share = change / total if change is not None and total else None
    return Sensitivity(charges.scenario.name, price, change, share, _equal_at(charges, price, base))


def _equal_at(charges: Charges, price: str, base: Charges) -> float | None:
    if charges is base:
        return None

    def excess(factor: float) -> float | None:
        here, there = (_total(one.scenario, price, factor) for one in (charges, base))
        return None if here is None or there is None else here - there

    return crossing(excess, _MOST_FACTOR)


def _total(scenario: Scenario, price: str, factor: float) -> float | None:
    return charges_of(repriced(scenario, price, factor)).year_total


def repriced(scenario: Scenario, price: str, factor: float) -> Scenario:
    """With one price of all its rows dearer or cheaper by a factor."""
    portions = []
    for portion in scenario.portions:
        prices = {name: one.times(factor) if name == price else one for name, one in portion.rates.prices.items()}
        portions.append(replace(portion, rates=replace(portion.rates, prices=prices)))
    return replace(scenario, portions=tuple(portions))
