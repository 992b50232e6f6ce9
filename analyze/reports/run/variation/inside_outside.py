"""A weighted mean inside of something against that outside of it, with whole transfers as what is drawn.

Periods of one transfer are alike, so the error of the difference is that of a ratio over clusters, by linearisation
(W. G. Cochran, Sampling Techniques, 3rd ed., sections 6.3 and 9A): each transfer has a residual, and what those scatter
is the error. Transfers near in time are alike, too: residuals that go on in time make the error larger, as a mean of an
autocorrelated series has it. Student's t is expressed as its normal deviate.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.stats.association import autocorrelation
from vmtrace.analyze.stats.estimates import (
    ABSENT,
    NORMAL_QUANTILE,
    Estimate,
    Floats,
    normal_of_student,
    student_quantile,
)
from vmtrace.formats.quantities import plural

FEWEST_TRANSFERS = 5
"""With something inside, and worth as many: fewer say nothing of their scatter."""
NEVER_CHANGED = "it never changed"
_ROUNDING = 1e-12
_LARGEST = 1e100
"""Beyond it no counter is, and squares of sums would not fit."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A difference of two means. `reason` says why there is none, or no test of it."""

    inside: float | None
    outside: float | None
    difference: Estimate
    """Inside less outside; n is the number of transfers that have something inside."""
    effective: float | None = None
    """What these transfers are worth."""
    z: float | None = None
    """Standard normal if there is no difference."""
    reason: str | None = None


def compared(value: Floats, inside: Floats, outside: Floats, transfer: NDArray[np.int64]) -> Compared:
    """The means of `value` by the weights `inside` and `outside`; `transfer` numbers transfers in order of time."""
    largest = float(np.abs(value).max(initial=0.0))
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        return Compared(None, None, ABSENT, reason="its values are too large or too small to compare")
    if not inside.any():
        return Compared(None, None, ABSENT, reason="none of its periods with a value meets these intervals")
    if not outside.any():
        return Compared(None, None, ABSENT, reason="no other time in transfers to compare with")
    _, cluster = np.unique(transfer, return_inverse=True)
    number = int(cluster.max()) + 1
    weights = (inside, inside * value, outside, outside * value)
    in_weight, in_sum, out_weight, out_sum = (np.bincount(cluster, one, number) for one in weights)
    means = float(in_sum.sum() / in_weight.sum()), float(out_sum.sum() / out_weight.sum())
    difference, there = means[0] - means[1], int((in_weight > 0).sum())
    bare = Estimate(difference, None, None, there)
    if there < FEWEST_TRANSFERS:
        reason = f"values in the intervals of {plural(there, 'transfer')}, {FEWEST_TRANSFERS} are needed"
        return Compared(*means, bare, reason=reason)
    if float(np.ptp(value)) <= _ROUNDING * float(np.abs(value).max()):
        return Compared(*means, bare, reason=NEVER_CHANGED)
    residual = (in_sum - means[0] * in_weight) / in_weight.sum() - (out_sum - means[1] * out_weight) / out_weight.sum()
    inflation = _inflation(residual)
    effective = there / inflation
    if effective < FEWEST_TRANSFERS:
        return Compared(*means, bare, effective, reason=f"{there} transfers so alike in time that they are worth"
                        f" {effective:.1f}")  # fmt: skip
    error = math.sqrt(number / (number - 1) * float(residual @ residual) * inflation)
    freedom = effective - 1
    half = student_quantile(NORMAL_QUANTILE, freedom) * error
    estimate = Estimate(difference, difference - half, difference + half, there)
    # No scatter at all is what rounding leaves of a difference that is the same everywhere.
    error = max(error, _ROUNDING * max(abs(means[0]), abs(means[1])))
    return Compared(
        *means, estimate, effective, math.copysign(normal_of_student(abs(difference) / error, freedom), difference)
    )


def _inflation(residual: Floats) -> float:
    """By how much the variance of their sum is larger than if they were independent; at least 1."""
    n = len(residual)
    most = n // 5
    if most < 1:
        return 1.0
    together = autocorrelation(residual, most)
    # Beyond the first that is not positive there is noise, whose sum in a finite series is below 0 (C. J. Geyer,
    # Statistical Science 7, 1992). A finite series also has each of them too low, by about (1 + 3 r) / n
    # (F. H. C. Marriott, J. A. Pope, Biometrika 41, 1954).
    until = int(np.argmax(together <= 0)) if (together <= 0).any() else most
    positive = together[:until]
    positive = np.minimum(1.0, positive + (1 + 3 * positive) / n)
    lags = np.arange(1, until + 1)
    return 1 + 2 * float(np.sum((n - lags) / n * positive))
