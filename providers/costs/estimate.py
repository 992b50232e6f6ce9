"""A workload at a price table, reckoned through: all scenarios, break-even points, sensitivity, one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from vmtrace.providers.costs.break_even import BreakEven, break_even_points
from vmtrace.providers.costs.charges import charges_of
from vmtrace.providers.costs.quantities import TOTAL, Charges
from vmtrace.providers.costs.scenarios import Context, scenarios_of
from vmtrace.providers.costs.sensitivity import Sensitivity, sensitivities
from vmtrace.providers.costs.ways import Named


@dataclass(frozen=True, slots=True)
class Estimate:
    """Everything that is shown and written."""

    context: Context
    charged: tuple[Charges, ...]
    """Everything in the store first."""
    points: tuple[BreakEven, ...]
    sensitivity: tuple[Sensitivity, ...]
    sentence: str

    @property
    def base(self) -> Charges:
        """Everything in the store."""
        return self.charged[0]

    def per_job(self, charges: Charges, category: str = TOTAL) -> float | None:
        """What a job costs; None where jobs are unknown, or the charge."""
        jobs, year = self.context.workload.jobs_per_month, charges.year[category]
        return year / 12 / jobs if jobs and year is not None else None


def estimate(context: Context, ways: Sequence[Named]) -> Estimate:
    """Reckon it all."""
    charged = tuple(charges_of(one) for one in scenarios_of(context, list(ways)))
    points = tuple(break_even_points(context, ways, charged))
    return Estimate(context, charged, points, tuple(sensitivities(charged)), _sentence(context, charged))


def _sentence(context: Context, charged: Sequence[Charges]) -> str:
    base, currency = charged[0], context.table.currency
    if base.year_total is None:
        known = [one for one in charged if one.year_total is not None]
        ends = f"; {_cheapest_of(known, currency)}" if known else ""
        return f"{_capital(base.scenario.name)} has no total: missing {_some(base.missing)}{ends}."
    begins = f"{_capital(base.scenario.name)} costs {base.year_total:,.2f} {currency} a year{_largest(base)}"
    others = [one for one in charged[1:] if one.year_total is not None]
    if not others:
        return f"{begins}."
    best = min(others, key=lambda one: one.year_total or 0.0)
    if best.year_total is None or best.year_total >= base.year_total:
        return f"{begins}; none of the other ways is cheaper."
    saved = 1 - best.year_total / base.year_total
    return f"{begins}; {best.scenario.name} is cheapest with {best.year_total:,.2f} {currency} ({saved:.1%} less)."


def _cheapest_of(charged: Sequence[Charges], currency: str) -> str:
    best = min(charged, key=lambda one: one.year_total or 0.0)
    return f"{best.scenario.name} costs {best.year_total or 0.0:,.2f} {currency} a year"


def _largest(charges: Charges) -> str:
    amounts = {name: amount for name, amount in charges.year.items() if name != TOTAL and amount}
    if not amounts or not charges.year_total:
        return ""
    name = max(amounts, key=lambda one: amounts[one] or 0.0)
    return f", {(amounts[name] or 0.0) / charges.year_total:.0%} of it for {name}"


def _some(missing: Sequence[str]) -> str:
    shown = ", ".join(missing[:3])
    return f"{shown} and {len(missing) - 3} more" if len(missing) > 3 else shown


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
