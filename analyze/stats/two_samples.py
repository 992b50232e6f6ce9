"""How two samples differ, with their uncertainty: an effect size, intervals, a permutation test.

Nothing is assumed of the distributions: throughput is skewed, loss is mostly zero. Where values belong to different
groups (sizes of transfers), before and after are compared within each group, and the groups' differences put together;
else a group with more transfers after than before would look like a change. Values are taken as independent draws.
Seeds are fixed and values are sorted first: the same values give the same numbers in any order.

Intervals are percentiles of bootstrap samples. Of means they are taken further out for few values, as for a single mean
(`estimates.mean`): as they are they held the true difference of 6 and 6 values in 90 % of cases. Medians of so few
values make them wide enough without. Cliff's delta has an interval of its own (`dominance`).

Sources: P. van Elteren, On the combination of
independent two sample tests of Wilcoxon, Bull. Int. Stat. Inst. 37 (1960), for the weights of groups; B. Phipson,
G. Smyth, Permutation p-values should never be zero, SAGMB 9 (2010); S. Holm, Scand. J. Statist. 6 (1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.stats.dominance import dominance, interval
from vmtrace.analyze.stats.estimates import CONFIDENCE, Estimate, Floats, expanded_tail, ranks

PERMUTATIONS = 9_999
FEWEST = 6
"""Values on either side below which nothing is tested: of so few, hardly an order can be called unusual."""
_RESAMPLES = 2_000
_SEED = 20_110_701
_AT_ONCE = 1 << 20
_NO_CHANGE = 1e-12
_LARGEST_LOG = float(np.log(np.finfo(np.float64).max))


@dataclass(frozen=True, slots=True)
class Group:
    """Values before and after of transfers that can be compared, none of them missing."""

    before: Floats
    after: Floats

    @property
    def weight(self) -> float:
        """By van Elteren: what a group of this size can tell."""
        return len(self.before) * len(self.after) / (len(self.before) + len(self.after) + 1)


@dataclass(frozen=True, slots=True)
class Difference:
    """What is after against what is before; `n` of an estimate counts the values of both."""

    ratio_of_medians: Estimate
    """Of several groups the geometric mean; None where a median is not positive."""
    difference_of_means: Estimate
    """After minus before, in the values' unit."""
    cliffs_delta: Estimate
    """How much more often a value after is larger than one before than the other way round: -1 to 1."""
    p: float | None
    """How often labels dealt at random differ as much, both ways; None if too few values, or all are the same."""


def difference(groups: Sequence[Group], permutations: int = PERMUTATIONS) -> Difference:
    """Compare before and after. Groups with nothing on one side are to be left out by the caller."""
    ordered = [Group(np.sort(one.before), np.sort(one.after)) for one in groups]
    sides = [sum(len(one.before) for one in ordered), sum(len(one.after) for one in ordered)]
    n = sum(sides)
    if min(sides) == 0:
        absent = Estimate(None, None, None, n)
        return Difference(absent, absent, absent, None)
    weights = np.array([one.weight for one in ordered])
    # A ratio to nothing in one group and of nothing in another has no mean.
    with np.errstate(invalid="ignore"):
        observed = np.stack([_differences(one) for one in ordered], axis=1) @ (weights / weights.sum())
    low = high = np.full(3, np.nan)
    # Of very few values resampling shows only those few again.
    if min(min(len(one.before), len(one.after)) for one in ordered) >= FEWEST:
        low, high = _intervals(ordered, weights / weights.sum())
    log_ratio, mean, delta = (
        Estimate(_known(value), _known(least), _known(most), n)
        for value, least, most in zip(observed, low, high, strict=True)
    )
    ratio = Estimate(_exp(log_ratio.value), _exp(log_ratio.low), _exp(log_ratio.high), n)
    return Difference(ratio, mean, delta, _p(ordered, sides, permutations))


def levels(groups: Sequence[Group], *, of_medians: bool) -> tuple[float, float]:
    """The values before and after whose ratio, or difference, is that of `difference`.

    Medians, of several groups their geometric mean; or means, and their mean. Groups weigh as in the comparison.
    """
    weights = np.array([one.weight for one in groups])
    weights = weights / weights.sum()
    sides = [[one.before for one in groups], [one.after for one in groups]]
    if of_medians:
        before, after = (float(np.exp(weights @ np.log([np.median(one) for one in side]))) for side in sides)
    else:
        before, after = (float(weights @ np.array([one.mean() for one in side])) for side in sides)
    return before, after


def _differences(group: Group) -> Floats:
    """Logarithm of the ratio of medians, difference of means, Cliff's delta."""
    return np.array(
        [
            *_log_ratio(np.median(group.before, keepdims=True), np.median(group.after, keepdims=True)),
            group.after.mean() - group.before.mean(),
            _delta(ranks(np.concatenate([group.before, group.after]))[len(group.before) :].sum(), group),
        ]
    )


def _delta(rank_sum_after: float, group: Group) -> float:
    before, after = len(group.before), len(group.after)
    return float(2 * (rank_sum_after - after * (after + 1) / 2) / (before * after) - 1)


def _log_ratio(before: Floats, after: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.log(after) - np.log(before)
    return ratio


def _p(groups: Sequence[Group], sides: Sequence[int], permutations: int) -> float | None:
    pooled = [np.concatenate([one.before, one.after]) for one in groups]
    if min(sides) < FEWEST or all(values.min() == values.max() for values in pooled):
        return None
    dealt = np.zeros(permutations)
    observed = 0.0
    for stream, (group, values) in enumerate(zip(groups, pooled, strict=True)):
        ranked = ranks(values)
        observed += group.weight * _delta(ranked[len(group.before) :].sum(), group)
        sums = _rank_sums(np.sort(ranked), len(group.after), stream, permutations)
        before, after = len(group.before), len(group.after)
        dealt += group.weight * (2 * (sums - after * (after + 1) / 2) / (before * after) - 1)
    as_far = np.count_nonzero(np.abs(dealt) >= abs(observed) - _NO_CHANGE * sum(one.weight for one in groups))
    return (1 + int(as_far)) / (1 + permutations)


def _rank_sums(ranked: Floats, chosen: int, stream: int, permutations: int) -> Floats:
    labels = _labels(len(ranked), chosen, stream, permutations)
    rows = max(1, _AT_ONCE // len(ranked))
    parts = [labels[at : at + rows].astype(np.float64) @ ranked for at in range(0, permutations, rows)]
    return np.concatenate(parts)


@lru_cache(maxsize=32)
def _labels(n: int, chosen: int, stream: int, permutations: int) -> NDArray[np.bool_]:
    """Rows of `n` places, `chosen` of them true. Each stream is another, so that groups are dealt independently."""
    generator = np.random.default_rng([_SEED, 1, stream])
    labels = np.zeros((permutations, n), np.bool_)
    labels[:, :chosen] = True
    return generator.permuted(labels, axis=1, out=labels)


def _intervals(groups: Sequence[Group], weights: Floats) -> tuple[Floats, Floats]:
    """Of ratio and mean percentiles of what resampling either side of every group gives."""
    parts = [weight * _resampled(one, stream) for stream, (one, weight) in enumerate(zip(groups, weights, strict=True))]
    with np.errstate(invalid="ignore"):
        log_ratios, means = np.sum(parts, axis=0)
        tail = (1 - CONFIDENCE) / 2
        ratio = np.quantile(log_ratios, (tail, 1 - tail))
        tail = expanded_tail(_variances_of_means(groups, weights))
        mean = np.quantile(means, (tail, 1 - tail))
    delta = interval([dominance(one.before, one.after) for one in groups], weights)
    low, high = np.transpose([ratio, mean, delta])
    return low, high


def _variances_of_means(groups: Sequence[Group], weights: Floats) -> list[tuple[float, int]]:
    """What each side of each group adds to the variance of the difference, with its degrees of freedom."""
    return [
        (float(weight * weight * side.var(ddof=1) / len(side)), len(side) - 1)
        for one, weight in zip(groups, weights, strict=True)
        for side in (one.before, one.after)
    ]


def _resampled(group: Group, stream: int) -> Floats:
    """Logarithm of the ratio of medians and difference of means (rows) of each resample (columns)."""
    before, after = group.before, group.after
    found = []
    rows = max(1, _AT_ONCE // (len(before) + len(after)))
    for at in range(0, _RESAMPLES, rows):
        times_before = _times(len(before), 2 * stream)[at : at + rows].astype(np.float64)
        times_after = _times(len(after), 2 * stream + 1)[at : at + rows].astype(np.float64)
        mean = times_after @ after / len(after) - times_before @ before / len(before)
        medians = (_medians(values, times) for values, times in ((before, times_before), (after, times_after)))
        found.append(np.stack([_log_ratio(*medians), mean]))
    return np.concatenate(found, axis=1)


@lru_cache(maxsize=32)
def _times(n: int, stream: int) -> NDArray[np.uint16]:
    """How often each of `n` values comes in each resample."""
    drawn = np.random.default_rng([_SEED, 2, stream]).integers(0, n, (_RESAMPLES, n))
    places = drawn + n * np.arange(_RESAMPLES)[:, np.newaxis]
    return np.bincount(places.ravel(), minlength=_RESAMPLES * n).reshape(_RESAMPLES, n).astype(np.uint16)


def _medians(values: Floats, times: Floats) -> Floats:
    """Of each row, in which `values` (sorted) come so many times."""
    up_to, n = np.cumsum(times, axis=1), times.shape[1]
    middle = [values[(up_to > place).argmax(axis=1)] for place in ((n - 1) // 2, n // 2)]
    median: Floats = (middle[0] + middle[1]) / 2
    return median


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _exp(value: float | None) -> float | None:
    """None where the ratio is larger than a number may be, too: JSON has no infinity."""
    return None if value is None or value > _LARGEST_LOG else float(np.exp(value))
