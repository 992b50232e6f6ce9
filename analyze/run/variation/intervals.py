"""Metrics of hosts and CloudWatch joined to the intervals in which a factor limited, not only to whole transfers.

For a factor every period of a metric has a share: of the transfers' time in it, what the factor limited. That share and
the metric are correlated as throughput is with it (`association`); the effect is the metric's mean inside the intervals
against that in the rest of the transfers' time, weighted by overlap, its interval from samples of whole transfers drawn
anew. Where intervals are shorter than periods, a period inside holds other time, too: the difference is then diluted.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from analyze.run.limits import FACTORS
from analyze.run.records import Side
from analyze.run.results import RunResults
from analyze.run.side_data import receiver_ahead_s, side_data
from analyze.run.statistics import CONFIDENCE, Estimate, Floats, holm
from analyze.run.transfers import MeasuredTransfer
from analyze.run.variation.association import FEWEST, Association, associate
from analyze.run.variation.candidates import LAGS
from analyze.run.variation.findings import SIGNIFICANT, Judgement
from analyze.side.metrics import Metric, Periods
from analyze.side.overlap import ENOUGH, Overlaps, overlaps

FEWEST_INTERVALS = 5
"""Of a factor, and the fewest transfers that have one."""
SMALL_SHARE = 0.05
"""A difference of shares that is called none, unless a smaller level than that is a burden already."""
_NOT_ASKED = frozenset({"setup"})
"""Opening a connection takes round trips, whatever a host does."""
_RESAMPLES = 1000
_MOST_SAMPLES = 400
"""Groups that are drawn anew: of more transfers than that, neighbours in time are drawn together."""
_MOST_PERIODS = 2000
"""That are correlated: more than that are means of neighbours, which are alike anyway."""
_SEED = 20110701

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
    association: Association | None
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
        return self.association.lag * self.period_s if self.association and self.period_s is not None else None


def interval_findings(results: RunResults) -> list[IntervalFinding]:
    """Every metric against every factor that has enough intervals, the factor with most of them first."""
    if not isinstance(found := results.kept.get("interval_findings"), list):
        found = results.kept["interval_findings"] = _find(results)
    return found


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
    adjusted = holm([one.association.p_value if one.association else None for one in asked])
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
    return _Joined(
        _sums(inside, number),
        _sums(found, number),
        transfer,
    )


def _sums(found: Overlaps, number: int) -> Floats:
    """The time of each period that lies in stretches."""
    return np.bincount(found.period, found.overlap_ns.astype(np.float64), number).astype(np.float64)


def _asked(part: _Stretches, joined: _Joined, periods: Periods) -> IntervalFinding:
    value = periods.value
    there = ~np.isnan(value) & (joined.all_ns > 0)
    within = there & (joined.inside_ns > 0)
    inside_ns, outside_ns = joined.inside_ns[there], (joined.all_ns - joined.inside_ns)[there]
    clusters = len(np.unique(joined.transfer[within]))
    reason = _why_not(there, within, clusters, outside_ns)
    association = None
    if reason is None:
        share = np.where(joined.all_ns > 0, joined.inside_ns / np.maximum(joined.all_ns, 1), np.nan)
        by_lag = {lag: _fewer(one) for lag, one in _by_lag(periods, there).items()}
        shares = _fewer(share[there])
        association = associate(shares, by_lag, np.zeros(len(shares), np.int64))
        reason = association.reason
    length_ns = (periods.end_ns - periods.start_ns)[within]
    known = value[there]
    none = Estimate(None, None, None, clusters)
    return IntervalFinding(
        factor=str(part.factor[0]),
        metric=periods.metric,
        judgement="undecided",
        intervals=len(part.factor),
        transfers=len(np.unique(part.transfer)),
        periods=int(there.sum()),
        inside=_mean(known, inside_ns),
        outside=_mean(known, outside_ns),
        difference=_difference(known, inside_ns, outside_ns, joined.transfer[there]) if association else none,
        p95_inside=float(np.quantile(value[within], 0.95)) if within.any() else None,
        period_s=periods.period_s,
        coverage=float(joined.inside_ns[within].sum() / (part.until_ns - part.begin_ns).sum()),
        weight=float(joined.inside_ns[within].sum() / length_ns.sum()) if within.any() else None,
        association=association,
        p_adjusted=None,
        reason=reason,
    )


def _why_not(there: NDArray[np.bool_], within: NDArray[np.bool_], clusters: int, outside_ns: Floats) -> str | None:
    """Why there is nothing to compare."""
    if not within.any():
        return "none of its periods with a value meets these intervals"
    if not outside_ns.any():
        return "there is no other time in transfers to compare with"
    if clusters < FEWEST_INTERVALS:
        return f"values in the intervals of {clusters} transfers, {FEWEST_INTERVALS} are needed"
    if there.sum() < FEWEST:
        return f"{int(there.sum())} periods with a value, {FEWEST} are needed"
    return None


def _by_lag(periods: Periods, there: NDArray[np.bool_]) -> dict[int, Floats]:
    """The metric so many periods before; NaN where that period is not there."""
    places = np.flatnonzero(there)
    step_ns = round((periods.period_s or 0.0) * 1e9)
    by_lag = {}
    for lag in LAGS:
        other = np.clip(places - lag, 0, len(periods.value) - 1)
        apart_ns = periods.start_ns[places] - periods.start_ns[other]
        beside = np.abs(apart_ns - lag * step_ns) < step_ns / 2
        by_lag[lag] = np.where(beside, periods.value[other], np.nan)
    return by_lag


def _fewer(value: Floats) -> Floats:
    """Neighbours taken together, so that there are at most `_MOST_PERIODS`; NaN where one of them has no value."""
    together = -(-len(value) // _MOST_PERIODS)
    if together <= 1:
        return value
    rest = -len(value) % together
    padded = np.concatenate([value, np.full(rest, value[-1])])
    means: Floats = padded.reshape(-1, together).mean(axis=1)
    return means


def _mean(value: Floats, weight: Floats) -> float | None:
    total = float(weight.sum())
    return float(value @ weight) / total if total > 0 else None


def _difference(value: Floats, inside_ns: Floats, outside_ns: Floats, transfer: Integers) -> Estimate:
    """Of weighted means, with the interval of samples of transfers: periods of one transfer are alike."""
    _, cluster = np.unique(transfer, return_inverse=True)
    number = int(cluster.max()) + 1
    if number > _MOST_SAMPLES:
        cluster, number = cluster * _MOST_SAMPLES // number, _MOST_SAMPLES
    weights = (inside_ns, inside_ns * value, outside_ns, outside_ns * value)
    sums = np.stack([np.bincount(cluster, one, number) for one in weights], axis=1)
    in_ns, in_sum, out_ns, out_sum = sums.sum(axis=0)
    drawn = _drawn(number) @ sums
    with np.errstate(divide="ignore", invalid="ignore"):
        resampled = drawn[:, 1] / drawn[:, 0] - drawn[:, 3] / drawn[:, 2]
    resampled = resampled[np.isfinite(resampled)]
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    clusters = int((sums[:, 0] > 0).sum())
    return Estimate(float(in_sum / in_ns - out_sum / out_ns), float(low), float(high), clusters)


@lru_cache(maxsize=4)
def _drawn(number: int) -> Floats:
    """How often each of so many groups is in each sample drawn anew."""
    generator = np.random.default_rng(_SEED)
    return generator.multinomial(number, np.full(number, 1 / number), size=_RESAMPLES).astype(np.float64)


def _judged(one: IntervalFinding, p_adjusted: float | None) -> IntervalFinding:
    return replace(one, judgement=_judgement(one, p_adjusted), p_adjusted=p_adjusted)


def _judgement(one: IntervalFinding, p_adjusted: float | None) -> Judgement:
    if one.inside is None or one.outside is None:
        return "not_measured"
    nothing = one.metric.harm == "high" and one.p95_inside == 0 and one.inside == 0
    if nothing or (one.association is not None and one.association.reason == "it never changed" and one.low):
        return "not_the_cause"
    if one.association is None or p_adjusted is None:
        return "too_few"
    difference = one.difference.value or 0.0
    if p_adjusted < SIGNIFICANT and not _small(one):
        harms = (difference > 0) == (one.metric.harm == "high")
        alike = (difference > 0) == ((one.association.spearman.value or 0.0) > 0)
        if harms and alike:
            about = (one.coverage or 0.0) >= ENOUGH and (one.weight or 0.0) >= ENOUGH
            return "varies_with" if about and one.association.lag >= 0 else "consistent_with"
        return "rises_with" if alike else "undecided"
    return "not_the_cause" if one.low or _small(one) else "undecided"


def _small(one: IntervalFinding) -> bool:
    """True if the whole interval of a difference of shares is small, also when it is diluted by other time."""
    low, high = one.difference.low, one.difference.high
    if one.metric.unit != "share" or low is None or high is None or not one.weight:
        return False
    return max(abs(low), abs(high)) / one.weight <= min(SMALL_SHARE, one.metric.harmless or SMALL_SHARE)
