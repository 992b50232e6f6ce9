"""Where a way of running a workload starts or stops to pay: the value of its own variable at equal yearly totals.

Totals move in one direction with each variable, but with the steps of prices not in a straight line: the point is found
by bisection, of the totals themselves, and never of a formula beside them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vmtrace.providers.costs.charges import charges_of
from vmtrace.providers.costs.quantities import Charges
from vmtrace.providers.costs.scenarios import Context, scenario_of
from vmtrace.providers.costs.ways import Archive, Beside, Cache, Cooperative, Derived, Named, Way
from vmtrace.providers.costs.workload import MOST

_SAME = 0.005
_CLOSE = 1e-12  # of the value: nearer than any price is known


@dataclass(frozen=True, slots=True)
class BreakEven:
    """One point. `value` is None where no value of the variable makes the two equal."""

    scenario: str
    against: str
    variable: str
    unit: str
    value: float | None
    now: float | None
    """What the scenario has; None: unknown."""
    sentence: str


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    unit: str
    most: float
    now: float | None
    apply: Callable[[float], Way]
    grows: bool
    """Whether the scenario becomes dearer with it."""


def break_even_points(context: Context, ways: Sequence[Named], charged: Sequence[Charges]) -> list[BreakEven]:
    """One or more for each way; `charged` begins with everything in the store, against which they stand.

    Cooperation that costs nothing is always cheaper than that: it is put against the cheapest of the others, too.
    """
    points = []
    for named in ways:
        others = [charged[0]]
        if isinstance(named.way, Cooperative):
            others += _cheapest_besides(named.name, charged)
        for variable in _variables(context, named.way):
            points += [_point(context, named, variable, other) for other in others]
    return points


def _cheapest_besides(name: str, charged: Sequence[Charges]) -> list[Charges]:
    base, *others = charged
    known = [one for one in others if one.year_total is not None and one.scenario.kind != "cooperative"]
    best = min(known, key=lambda one: one.year_total or 0.0, default=None)
    if best is None or base.year_total is None or best.scenario.name == name:
        return []
    return [best] if (best.year_total or 0.0) < base.year_total else []


def _point(context: Context, named: Named, variable: _Variable, base: Charges) -> BreakEven:
    def excess(value: float) -> float | None:
        changed = Named(named.name, variable.apply(value))
        total, least = charges_of(scenario_of(context, changed)).year_total, base.year_total
        return None if total is None or least is None else total - least

    value = crossing(excess, variable.most)
    sentence = _sentence(named.name, base.scenario.name, variable, value, excess(0.0))
    return BreakEven(named.name, base.scenario.name, variable.name, variable.unit, value, variable.now, sentence)


def crossing(excess: Callable[[float], float | None], most: float) -> float | None:
    """Where a function that moves in one direction, from 0 to `most`, passes zero; None: nowhere, or unknown."""
    low, high = 0.0, most
    first, last = excess(low), excess(high)
    # Halves of cents are rounding: the two cost the same from the beginning on.
    if first is not None and abs(first) < _SAME:
        return None
    if first is None or last is None or first == last or (first > 0) == (last > 0):
        return None
    while high - low > high * _CLOSE:
        middle = (low + high) / 2
        here = excess(middle)
        if here is None:
            return None
        low, high = (middle, high) if (here > 0) == (first > 0) else (low, middle)
    return high


def _sentence(name: str, base: str, variable: _Variable, value: float | None, at_zero: float | None) -> str:
    if at_zero is None:
        return f"{name}: unknown, because prices or numbers are missing"
    if value is None:
        any_value = f"any number of {variable.unit}"
        if variable.unit.startswith("of the bytes"):
            any_value = f"any share {variable.unit}"
        cheaper = at_zero < 0 or (abs(at_zero) < _SAME and not variable.grows)
        return f"{name}: {'cheaper than' if cheaper else 'never cheaper than'} {base} at {any_value}"
    side = "below" if variable.grows else "above"
    return f"{name}: cheaper than {base} {side} {shown_number(value, variable.unit)} {variable.unit}"


def shown_number(value: float, unit: str) -> str:
    """For a person: shares in per cent, large numbers without exponents."""
    if unit.startswith("of the bytes"):
        return f"{value:.1%}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _variables(context: Context, way: Way) -> list[_Variable]:
    workload = context.workload
    outside_gb = workload.read_gb_per_month * workload.outside_share
    match way:
        case Archive():
            recalled = _Variable(
                "recalled_gb_per_month", "GB recalled a month", workload.read_gb_per_month, way.recalled_gb_per_month,
                lambda value: replace(way, recalled_gb_per_month=value), grows=True,
            )  # fmt: skip
            return [recalled]
        case Derived() | Beside():
            return [_hours(context, way)]
        case Cache():
            rent = _Variable(
                "price_per_tb_month", f"{context.table.currency} a month for a TB of cache", 1e9,
                way.price_per_tb_month,
                lambda value: replace(way, price_per_tb_month=value), grows=True,
            )  # fmt: skip
            ratio = _Variable(
                "byte_hit_ratio", "of the bytes from the cache", 1.0, _byte_ratio(way, outside_gb),
                lambda value: replace(way, byte_hit_ratio=value, hit_ratio=None, miss_gb_per_month=None), grows=False,
            )  # fmt: skip
            return [*([rent] if way.size_gb else []), *([ratio] if way.price_per_tb_month else [])]
        case Cooperative():
            share = _Variable(
                "share", "of the bytes from peers", 1.0, way.share, lambda value: replace(way, share=value), grows=False
            )
            return [share]


def _hours(context: Context, way: Derived | Beside) -> _Variable:
    def with_hours(value: float) -> Way:
        return replace(way, compute_hours_per_month=max(value, 1e-9))  # 0 hours would be "unknown"

    workload_hours = context.workload.compute_hours_per_month
    now = workload_hours if way.compute_hours_per_month is None else way.compute_hours_per_month
    return _Variable("compute_hours_per_month", "hours of computing a month", MOST, now or None, with_hours, grows=True)


def _byte_ratio(way: Cache, outside_gb: float) -> float | None:
    if way.miss_gb_per_month is not None and outside_gb:
        return 1 - min(way.miss_gb_per_month / outside_gb, 1.0)
    return way.byte_hit_ratio
