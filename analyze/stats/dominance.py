"""Cliff's delta: how much more often a value after is larger than one before than the other way round, with interval.

Feng and Cliff's interval, of the scatter of single values' own deltas and not of a bootstrap: where hardly a value lies
on the wrong side most bootstrap samples have none, and their percentiles promise that nothing ever does.

Sources: N. Cliff, Dominance statistics, Psychological Bulletin 114 (1993), for the variance; D. Feng, N. Cliff, Monte
Carlo evaluation of ordinal d with improved confidence interval, J. Modern Applied Statistical Methods 3 (2004), for the
interval and for that of samples that do not overlap.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.stats.estimates import NORMAL_QUANTILE, Floats, student_quantile, welch_freedom


@dataclass(frozen=True, slots=True)
class Dominance:
    """Delta of one group, with what its error is made of."""

    delta: float
    variance: float
    of_before: float
    """The part of the variance that comes from the values before; its size goes with it below."""
    of_after: float
    before: int
    after: int


def dominance(before: Floats, after: Floats) -> Dominance:
    """Of values in rising order, at least two on each side."""
    n, m = len(before), len(after)
    # A value's own delta: of how many of the other side it is ahead, or behind.
    of_before = _ahead(after, before) / m
    of_after = -_ahead(before, after) / n
    delta = float(of_after.mean())
    own = float(((of_before - delta) ** 2).sum()), float(((of_after - delta) ** 2).sum())
    unequal = float((np.searchsorted(after, before, "left") + m - np.searchsorted(after, before, "right")).sum())
    of_pairs = unequal - n * m * delta * delta
    unbiased = (m * m * own[0] + n * n * own[1] - of_pairs) / (n * m * (n - 1) * (m - 1))
    least = (1 - delta * delta) / (n * m - 1)
    return Dominance(delta, max(unbiased, least), own[0] / (n * (n - 1)), own[1] / (m * (m - 1)), n, m)


def _ahead(others: Floats, values: Floats) -> Floats:
    """How many more of `others` lie above each value than below it."""
    below, up_to = np.searchsorted(others, values, "left"), np.searchsorted(others, values, "right")
    return (len(others) - up_to - below).astype(np.float64)


def interval(groups: Sequence[Dominance], weights: Floats) -> tuple[float, float]:
    """Of the weighted mean of the groups' deltas; within -1 and 1, and not around the estimate alike."""
    delta = float(sum(weight * one.delta for weight, one in zip(weights, groups, strict=True)))
    most_freedom = sum(one.before + one.after - 2 for one in groups)
    if abs(delta) > 1 - 1e-12:
        return _of_no_overlap(groups, weights, math.copysign(1.0, delta), most_freedom)
    parts = [
        (weight * weight * part, count - 1)
        for weight, one in zip(weights, groups, strict=True)
        for part, count in ((one.of_before, one.before), (one.of_after, one.after))
    ]
    student = student_quantile(NORMAL_QUANTILE, min(welch_freedom(parts), most_freedom))
    wide = student * student * float(sum(w * w * one.variance for w, one in zip(weights, groups, strict=True)))
    square = delta * delta
    half = math.sqrt(wide * ((1 - square) ** 2 + wide))
    scale = 1 - square + wide
    return max(-1.0, (delta - delta * square - half) / scale), min(1.0, (delta - delta * square + half) / scale)


def _of_no_overlap(groups: Sequence[Dominance], weights: Floats, delta: float, freedom: float) -> tuple[float, float]:
    """Every value of one side lies above all of the other: what share could lie elsewhere and not have been seen."""
    worth = 1 / float(sum(w * w / min(one.before, one.after) for w, one in zip(weights, groups, strict=True)))
    square = student_quantile(NORMAL_QUANTILE, freedom) ** 2
    inner = delta * (worth - square) / (worth + square)
    return min(delta, inner), max(delta, inner)
