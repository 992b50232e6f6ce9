"""Metrics of hosts and CloudWatch joined to the intervals in which a factor limited, not only to whole transfers.

For a factor every period of a metric has two parts: of the transfers' time in it, what the factor limited, and what is
left. The effect is the metric's mean inside the intervals against that outside of them, weighted by these parts; how
sure it is rests on transfers (`inside_outside`). Where intervals are shorter than periods, a period inside holds other
time, too: the difference is then diluted.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.read.records.run import Side
from vmtrace.analyze.read.side.metrics import Metric, Periods
from vmtrace.analyze.read.side.overlap import ENOUGH, Overlaps, overlaps
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.side_data import receiver_ahead_s, side_data
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.variation.candidates import LAGS
from vmtrace.analyze.reports.run.variation.findings import SIGNIFICANT, Judgement
from vmtrace.analyze.reports.run.variation.inside_outside import FEWEST_TRANSFERS, NEVER_CHANGED, Compared, compared
from vmtrace.analyze.stats.association import CLEARLY_STRONGER
from vmtrace.analyze.stats.estimates import Estimate, Floats, holm, spearman, two_sided_p
from vmtrace.analyze.words.factors import FACTORS

FEWEST_INTERVALS = FEWEST_TRANSFERS
"""The fewest transfers that must have an interval of a factor."""
SMALL_SHARE = 0.05
"""A difference of shares that is called none, unless a smaller level than that is a burden already."""
_NOT_ASKED = frozenset({"setup"})
"""Opening a connection takes round trips, whatever a host does."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IntervalFinding:
    """One metric against the intervals of one factor."""

    factor: str
    metric: Metric
    judgement: Judgement
    intervals: int
    transfers: int
    """That have such an interval."""
    periods: int
    """With a value, that meet a transfer."""
    inside: float | None
    """The metric's mean in the intervals."""
    outside: float | None
    """And in the rest of the transfers' time."""
    difference: Estimate
    """Inside less outside; n is the number of transfers with an interval."""
    p95_inside: float | None
    period_s: float | None
    coverage: float | None
    """Share of the intervals' time that has values."""
    weight: float | None
    """Share of those values' time that lies in the intervals."""
    spearman: float | None
    """Of the share of a period that is inside, and the metric."""
    effective_transfers: float | None
    """What the transfers with an interval are worth: neighbours in time are alike."""
    lag: int
    """In periods: positive if the metric comes first."""
    lags_tried: int
    p_value: float | None
    """Two-sided, of the difference, corrected for the lags."""
    p_adjusted: float | None
    reason: str | None

    @property
    def most_inside(self) -> float | None:
        """What the metric can have been inside the intervals alone, if all of a period's share came from there."""
        if self.p95_inside is None or not self.weight:
            return None
        most = self.p95_inside / self.weight
        return min(1.0, most) if self.metric.unit == "share" else most

    @property
    def low(self) -> bool:
        """True if that is no burden."""
        most = self.most_inside
        return self.metric.harmless is not None and most is not None and most <= self.metric.harmless

    @property
    def lag_s(self) -> float | None:
        """By how much the metric came before; below 0 it came later."""
        return self.lag * self.period_s if self.p_value is not None and self.period_s is not None else None


def interval_findings(results: RunResults) -> list[IntervalFinding]:
    """Every metric against every factor that has enough intervals, the factor with most of them first."""
    return results.once("interval_findings", lambda: _find(results))


@dataclass(frozen=True, slots=True)
class _Stretches:
    """The intervals of a run on the sender's clock, in any order."""

    factor: NDArray[np.str_]
    transfer: Integers
    begin_ns: Integers
    until_ns: Integers

    def of(self, factor: str) -> "_Stretches":
        chosen = self.factor == factor
        return _Stretches(self.factor[chosen], self.transfer[chosen], self.begin_ns[chosen], self.until_ns[chosen])


@dataclass(frozen=True, slots=True)
class _Joined:
    """Overlaps of the periods of one metric, a number for each period."""

    inside_ns: Floats
    all_ns: Floats
    transfer: Integers
    """Of which most of the period's time in transfers is; -1 where there is none."""


def _find(results: RunResults) -> list[IntervalFinding]:
    whole = _stretches(results.transfers, receiver_ahead_s(results))
    parts = [whole.of(factor) for factor in FACTORS if factor not in _NOT_ASKED]
    parts = [one for one in parts if len(one.factor) and len(np.unique(one.transfer)) >= FEWEST_INTERVALS]
    parts.sort(key=lambda one: -len(one.factor))
    clocks = _by_clock([one for one in side_data(results).metrics if one.metric.asked])
    asked = [
        _asked(part, _join(same[0], part, whole), periods) for part in parts for same in clocks for periods in same
    ]
    adjusted = holm([one.p_value for one in asked])
    return [_judged(one, p) for one, p in zip(asked, adjusted, strict=True)]


def _by_clock(metrics: Sequence[Periods]) -> list[list[Periods]]:
    """Metrics that have the same periods, together: those are joined once."""
    groups: list[list[Periods]] = []
    for one in metrics:
        for same in groups:
            if np.array_equal(same[0].start_ns, one.start_ns) and np.array_equal(same[0].end_ns, one.end_ns):
                same.append(one)
                break
        else:
            groups.append([one])
    return groups


def _stretches(transfers: "tuple[MeasuredTransfer, ...]", receiver_ahead: float | None) -> _Stretches:
    """Intervals of a capture whose clock cannot be put beside the sender's are left out."""
    moved_ns: dict[Side, int | None] = {
        "sender": 0,
        "receiver": None if receiver_ahead is None else -round(receiver_ahead * 1e9),
    }
    rows = [
        (factor, place, start_ns + by_ns, end_ns + by_ns)
        for place, one in enumerate(transfers)
        for side, factor, start_ns, end_ns in json.loads(one.measures.limit_intervals or "[]")
        if (by_ns := moved_ns.get(side)) is not None and end_ns > start_ns
    ]
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    return _Stretches(np.array(columns[0], np.str_), *(np.array(column, np.int64) for column in columns[1:]))


def _join(periods: Periods, part: _Stretches, whole: _Stretches) -> _Joined:
    number = len(periods.value)
    inside = overlaps(periods.start_ns, periods.end_ns, part.begin_ns, part.until_ns)
    found = overlaps(periods.start_ns, periods.end_ns, whole.begin_ns, whole.until_ns)
    transfer = np.full(number, -1, np.int64)
    # The largest overlap is written last, and stays.
    order = np.argsort(found.overlap_ns, kind="stable")
    transfer[found.period[order]] = whole.transfer[found.stretch[order]]
    return _Joined(_sums(inside, number), _sums(found, number), transfer)


def _sums(found: Overlaps, number: int) -> Floats:
    """The time of each period that lies in stretches."""
    return np.bincount(found.period, found.overlap_ns.astype(np.float64), number).astype(np.float64)


def _asked(part: _Stretches, joined: _Joined, periods: Periods) -> IntervalFinding:
    met = joined.all_ns > 0
    by_lag = {lag: _sample(joined, value, met) for lag, value in _by_lag(periods).items()}
    lag = _best({lag: one.compared for lag, one in by_lag.items()})
    best, tried = by_lag[lag], sum(one.compared.z is not None for one in by_lag.values())
    z = best.compared.z
    within, known = best.within, best.value
    length_ns = (periods.end_ns - periods.start_ns)[met][best.there][within]
    inside_ns = best.inside_ns[within]
    return IntervalFinding(
        factor=str(part.factor[0]),
        metric=periods.metric,
        judgement="undecided",
        intervals=len(part.factor),
        transfers=len(np.unique(part.transfer)),
        periods=len(known),
        inside=best.compared.inside,
        outside=best.compared.outside,
        difference=best.compared.difference,
        p95_inside=float(np.quantile(known[within], 0.95)) if within.any() else None,
        period_s=periods.period_s,
        coverage=min(1.0, float(inside_ns.sum() / (part.until_ns - part.begin_ns).sum())),
        weight=min(1.0, float(inside_ns.sum() / length_ns.sum())) if within.any() else None,
        spearman=spearman(best.inside_ns / np.maximum(best.inside_ns + best.outside_ns, 1), known).value,
        effective_transfers=best.compared.effective,
        lag=lag,
        lags_tried=tried,
        p_value=None if z is None else min(1.0, tried * two_sided_p(z)),
        p_adjusted=None,
        reason=best.compared.reason,
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """The periods that meet transfers and have a value, at one lag."""

    there: NDArray[np.bool_]
    value: Floats
    inside_ns: Floats
    outside_ns: Floats
    compared: Compared

    @property
    def within(self) -> NDArray[np.bool_]:
        return self.inside_ns > 0


def _sample(joined: _Joined, value: Floats, met: NDArray[np.bool_]) -> _Sample:
    there = ~np.isnan(value[met])
    known, inside_ns, all_ns = value[met][there], joined.inside_ns[met][there], joined.all_ns[met][there]
    outside_ns = np.maximum(all_ns - inside_ns, 0.0)
    return _Sample(
        there, known, inside_ns, outside_ns, compared(known, inside_ns, outside_ns, joined.transfer[met][there])
    )


def _by_lag(periods: Periods) -> dict[int, Floats]:
    """The metric so many periods before; NaN where that period is not there."""
    places = np.arange(len(periods.value))
    step_ns = round((periods.period_s or 0.0) * 1e9)
    by_lag = {}
    for lag in LAGS:
        other = np.clip(places - lag, 0, max(0, len(places) - 1))
        apart_ns = periods.start_ns[places] - periods.start_ns[other]
        one_lag_apart = np.abs(apart_ns - lag * step_ns) < step_ns / 2
        by_lag[lag] = np.where(one_lag_apart, periods.value[other], np.nan)
    return by_lag


def _best(found: dict[int, Compared]) -> int:
    """The lag with the clearest difference; none, unless another one is clearly clearer."""
    known = {lag: abs(one.z) for lag, one in found.items() if one.z is not None}
    if 0 not in known:
        return 0
    best = max(known, key=lambda lag: (known[lag], -abs(lag)))
    return best if known[best] > CLEARLY_STRONGER * known[0] else 0


def _judged(one: IntervalFinding, p_adjusted: float | None) -> IntervalFinding:
    return replace(one, judgement=_judgement(one, p_adjusted), p_adjusted=p_adjusted)


def _judgement(one: IntervalFinding, p_adjusted: float | None) -> Judgement:
    if one.inside is None or one.outside is None:
        return "not_measured"
    # In the intervals of a few transfers it may have been 0 by chance.
    if one.metric.harm == "high" and one.inside == 0 and one.difference.n >= FEWEST_INTERVALS:
        return "not_the_cause"
    if p_adjusted is None:
        if one.difference.n >= FEWEST_INTERVALS and one.low:
            return "not_the_cause"
        return "undecided" if one.reason == NEVER_CHANGED else "too_few"
    if p_adjusted < SIGNIFICANT and not _small(one):
        if ((one.difference.value or 0.0) > 0) != (one.metric.harm == "high"):
            return "rises_with"
        about = (one.coverage or 0.0) >= ENOUGH and (one.weight or 0.0) >= ENOUGH
        return "varies_with" if about and one.lag >= 0 else "consistent_with"
    return "not_the_cause" if one.low or _small(one) else "undecided"


def _small(one: IntervalFinding) -> bool:
    """True if the whole interval of a difference of shares is small, also when it is diluted by other time."""
    low, high = one.difference.low, one.difference.high
    if one.metric.unit != "share" or low is None or high is None or not one.weight:
        return False
    return max(abs(low), abs(high)) / one.weight <= min(SMALL_SHARE, one.metric.harmless or SMALL_SHARE)
