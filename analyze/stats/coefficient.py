"""The coefficient of variation that transfers of several sizes have in common, with its interval.

Each index has a usual throughput of its own, and it is measured by its few transfers. Put over its median, these few
lie closer together than transfers do: of three a tenth of the scatter would be gone. So each index has its own
coefficient (standard deviation of a sample over mean), and what they have in common is the root of the mean of their
squares, weighted by their transfers.

A bootstrap sample repeats values and scatters less than what it is drawn from: percentiles of its variation lie too
low, and a third of the intervals of 6 values would end below the true one. So it is asked by how many standard errors
(by the influence of each value) samples are off, on the scale of the logarithm. Samples are drawn from the deviations
of all indices together, and dealt to indices of the same sizes.
Source: A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application (1997), sections 2.7.2, 3.2 and 5.2.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.stats.estimates import CONFIDENCE, FEWEST_FOR_MEAN, Estimate, Floats, resampled

Counts = NDArray[np.int64]


def coefficient_of_variation(values: Floats, groups: NDArray[np.int64] | None = None) -> Estimate:
    """Of values of one group, or of several with a mean of their own each; what is alone in its group does not count.

    2000 studentised bootstrap samples of a fixed seed make the interval. Below 6 values there is none; of one value, or
    where a mean is not positive, no number.
    """
    there = ~np.isnan(values)
    group = np.zeros(int(there.sum()), np.int64) if groups is None else groups[there]
    in_order = np.lexsort((values[there], group))
    ordered = values[there][in_order]
    counts = np.unique(group, return_counts=True)[1]
    in_company = np.repeat(counts > 1, counts)
    ordered, counts = ordered[in_company], counts[counts > 1]
    return _of_groups(ordered, counts)


def _of_groups(ordered: Floats, counts: Counts) -> Estimate:
    n = len(ordered)
    if n == 0 or _means(ordered[np.newaxis], counts).min() <= 0:
        return Estimate(None, None, None, n)
    logarithm, error = (float(part[0]) for part in _log_variation(ordered[np.newaxis], counts))
    value = math.exp(logarithm)
    if n < FEWEST_FOR_MEAN:
        return Estimate(value, None, None, n)
    if error == 0 or not math.isfinite(logarithm):
        return Estimate(value, value, value, n)
    # As far from 1 as to scatter, all together, by what was found.
    from_mean = _from_mean(ordered[np.newaxis], counts)[0] * np.sqrt(_unbiased(counts) * (n - 1) / n)

    def errors_off(samples: Floats) -> Floats:
        logarithms, errors = _log_variation(samples, counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            off: Floats = (logarithms - logarithm) / errors
        return off

    off = resampled(1 + from_mean, errors_off)
    # A sample of one value drawn again and again does not scatter, and has no error.
    most, least = np.quantile(off[np.isfinite(off)], [(1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2])
    # More than the root of n no n values show: what lies beyond cannot be told from it.
    bound = math.log(max(value, math.sqrt(n)))
    low, high = logarithm - float(most) * error, min(bound, logarithm - float(least) * error)
    return Estimate(value, min(value, math.exp(low)), max(value, math.exp(high)), n)


def _log_variation(samples: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """The logarithm of the common coefficient of variation of each row, and its standard error."""
    from_mean = _from_mean(samples, counts)
    squares = from_mean**2 * _unbiased(counts)
    square = squares.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = (squares / square - 1) / 2 - from_mean
        logarithms: Floats = np.log(square[:, 0]) / 2
    return logarithms, np.sqrt((influence**2).mean(axis=1) / samples.shape[1])


def _from_mean(samples: Floats, counts: Counts) -> Floats:
    """How far each value of each row is from the mean of its group, over that."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distance: Floats = samples / np.repeat(_means(samples, counts), counts, axis=1) - 1
    return distance


def _means(samples: Floats, counts: Counts) -> Floats:
    means: Floats = np.add.reduceat(samples, np.cumsum(counts) - counts, axis=1) / counts
    return means


def _unbiased(counts: Counts) -> Floats:
    """For each value by what a squared deviation from the mean of so few is too small."""
    return np.repeat(counts / (counts - 1), counts)
