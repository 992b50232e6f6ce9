"""Summaries of a sample with their uncertainty: the distributions and tests are scipy's, the choice of them is here.

scipy is imported where it is used: it takes longer to load than most reports to make.

Transfers of one index are taken as independent draws. Neighbours in time are somewhat alike, so that the true intervals
are, if anything, wider than these.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""Of the standard normal distribution, at (1 + CONFIDENCE) / 2."""
_RESAMPLES = 2000
_SEED = 20110701
FEWEST_FOR_MEAN = 6
_FEWEST_FOR_CORRELATION = 5
_RESAMPLED_AT_ONCE = 1 << 20
_LEAST = 5e-324


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % confidence interval; what the sample is too small for is None."""

    value: float | None
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: int
    """Values it is made of; where runs are compared, of both together."""

    def as_record(self) -> dict[str, float | int | None]:
        """For JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


ABSENT = Estimate(None, None, None, 0)


def median(values: Floats) -> Estimate:
    """The median, between two values of the sample itself (order statistics).

    Chosen because it assumes nothing of the distribution, takes no seed, and is exact: the number of values below the
    true median is binomial(n, 1/2), so the j-th smallest and the j-th largest enclose it with a known probability.
    j is the largest that keeps 95 %. Below 6 values not even the whole range does, and there is no interval.
    Source: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1.
    """
    ordered = np.sort(_measured(values))
    if not len(ordered):
        return ABSENT
    value = float(np.median(ordered))
    rank = _median_rank(len(ordered))
    if rank == 0:
        return Estimate(value, None, None, len(ordered))
    return Estimate(value, float(ordered[rank - 1]), float(ordered[-rank]), len(ordered))


def mean(values: Floats) -> Estimate:
    """The mean, with the expanded percentile interval of 2000 bootstrap samples.

    Loss rates are skewed, and many are zero: an interval of Student's t would reach below nothing.
    The seed is fixed and values are sorted first, so that the same values give the same interval in any order.
    Below 6 values resampling shows only those few again: no interval.
    Samples of few values scatter less than those do: percentiles are taken further out, by the root of n/(n-1) and by
    Student's quantile over the normal one. The interval stays within the values.
    Sources: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, chapter 13; T. C. Hesterberg, What Teachers
    Should Know about the Bootstrap, The American Statistician 69 (2015), section 3.2.
    """
    ordered = np.sort(_measured(values))
    if not len(ordered):
        return ABSENT
    value = float(ordered.mean())
    if len(ordered) < FEWEST_FOR_MEAN:
        return Estimate(value, None, None, len(ordered))
    if ordered[0] == ordered[-1]:
        return Estimate(value, value, value, len(ordered))
    from scipy.stats import bootstrap

    tail = expanded_tail([(1.0, len(ordered) - 1)])
    found = bootstrap(
        (ordered,),
        np.mean,
        n_resamples=_RESAMPLES,
        batch=max(1, _RESAMPLED_AT_ONCE // len(ordered)),
        confidence_level=1 - 2 * tail,
        method="percentile",
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return Estimate(value, float(found.low), float(found.high), len(ordered))


def pearson(x: Floats, y: Floats) -> Estimate:
    """Pearson's correlation: how far the two are on one line.

    The interval is Fisher's z with the standard error 1/sqrt(n-3).
    """
    x, y = _both_measured(x, y)
    return _correlation(x, y, 0.0)


def spearman(x: Floats, y: Floats) -> Estimate:
    """Spearman's correlation: how far one rises with the other, in whatever curve; ties share their mean rank.

    The interval is Fisher's z with the standard error sqrt((1+r²/2)/(n-3)): Bonett and Wright, Psychometrika 65 (2000).
    """
    x, y = _both_measured(x, y)
    return _correlation(ranks(x), ranks(y), 0.5)


def ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share their mean rank."""
    from scipy.stats import rankdata

    found: Floats = rankdata(values).astype(np.float64)
    return found


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted so that the chance of even one false alarm among all of them stays what it is for one.

    What has no p-value asks nothing. Written here: scipy adjusts for the share of false alarms (Benjamini and Hochberg)
    only, which would name more metrics. Source: S. Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for position, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - position)))
        adjusted[place] = largest
    return adjusted


def _correlation(x: Floats, y: Floats, extra_variance: float) -> Estimate:
    n = len(x)
    if n < _FEWEST_FOR_CORRELATION:
        return Estimate(None, None, None, n)
    x, y = _unit(x), _unit(y)
    if not x.any() or not y.any():
        # One of them never changes: there is nothing to go together with.
        return Estimate(None, None, None, n)
    from scipy.stats import pearsonr

    r = float(pearsonr(x, y).statistic)
    if abs(r) > 1 - 1e-12:
        # There z is infinite, and says nothing: five ranks in one order are no proof that all others would be.
        return Estimate(math.copysign(1.0, r), None, None, n)
    half = NORMAL_QUANTILE * math.sqrt((1 + extra_variance * r * r) / (n - 3))
    z = math.atanh(r)
    return Estimate(r, math.tanh(z - half), math.tanh(z + half), n)


def _unit(values: Floats) -> Floats:
    """Deviations from the mean, scaled to length 1 (all 0 if there are none beyond rounding)."""
    largest = float(np.abs(values).max())
    scaled = values / largest if largest > 0 else values
    deviations = scaled - scaled.mean()
    length = float(np.sqrt(deviations @ deviations))
    if length <= 1e-12 * math.sqrt(len(values)):
        return np.zeros(len(values))
    unit: Floats = deviations / length
    return unit


def _median_rank(n: int) -> int:
    """The largest j for which the j-th smallest and j-th largest of n enclose the median with 95 %; 0 if none does."""
    from scipy.stats import binom

    # The least j with P(at most j values below the median) beyond 2.5 %: the j-th smallest is below it more often.
    return int(binom.ppf((1 - CONFIDENCE) / 2, n, 0.5))


def resampled(values: Floats, statistic: Callable[[Floats], Floats]) -> Floats:
    """A statistic of each bootstrap sample; it takes samples as rows."""
    generator = np.random.default_rng(_SEED)
    rows = max(1, _RESAMPLED_AT_ONCE // len(values))
    found: list[Floats] = []
    done = 0
    while done < _RESAMPLES:
        now = min(rows, _RESAMPLES - done)
        found.append(statistic(values[generator.integers(0, len(values), (now, len(values)))]))
        done += now
    return np.concatenate(found)


def student_quantile(normal: float, freedom: float) -> float:
    """The quantile of Student's t that is as far out as this normal one."""
    from scipy.special import ndtr, stdtrit

    # By the small tail: the large one has no digits left where the quantile is far out.
    return normal if math.isinf(freedom) else -float(stdtrit(freedom, ndtr(-normal)))


def normal_of_student(t: float, freedom: float) -> float:
    """The normal deviate that is as far out as this value of Student's t, which is not below 0."""
    from scipy.special import ndtri, stdtr

    # Below the least number that there is, nothing is further out.
    return -float(ndtri(max(float(stdtr(freedom, -t)), _LEAST)))


def two_sided_p(z: float) -> float:
    """How often a standard normal deviate is as far from 0 as this one, either way."""
    from scipy.special import ndtr

    return 2 * float(ndtr(-abs(z)))


def welch_freedom(parts: Sequence[tuple[float, int]]) -> float:
    """Degrees of freedom of a sum of variances, each with its own; infinite of a sum that is 0.

    Source: B. L. Welch, Biometrika 34 (1947).
    """
    lost = sum(variance * variance / freedom for variance, freedom in parts)
    total = sum(variance for variance, _ in parts)
    return total * total / lost if lost > 0 else math.inf


def expanded_tail(parts: Sequence[tuple[float, int]]) -> float:
    """The share of bootstrap samples on either side of the interval of a sum of means, of these variances and freedoms.

    A sample of n values scatters as (n-1)/n of what they do, and the width follows Student's t.
    """
    total = sum(variance for variance, _ in parts)
    shrunk = sum(variance * freedom / (freedom + 1) for variance, freedom in parts)
    if not shrunk > 0:
        return (1 - CONFIDENCE) / 2
    student = student_quantile(NORMAL_QUANTILE, welch_freedom(parts))
    return two_sided_p(math.sqrt(total / shrunk) * student) / 2


def _measured(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _both_measured(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    there = ~(np.isnan(x) | np.isnan(y))
    return x[there], y[there]
