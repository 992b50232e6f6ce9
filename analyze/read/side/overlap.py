"""Periods with values joined to stretches of time, by overlap.

A point covers [start, end). Its weight in a stretch is its overlap with it. Two shares say what that is worth: how much
of the stretch has points (`coverage`), and how much of those points' own time is of the stretch (`weight`: overlap over
period). A mean over five minutes says little of a transfer of three seconds, though it covers all of it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ENOUGH = 0.5
"""Below this coverage or weight a value is of other times as much as of the stretch."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Which periods are in which stretches, and for how long: one entry for each pair that meets."""

    stretch: Integers
    period: Integers
    overlap_ns: Integers
    length_ns: Integers
    """Of the period."""
    stretches_ns: Integers
    """Length of every stretch."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A value for each stretch; NaN where no period with a value meets it."""

    value: Floats
    coverage: Floats
    """Share of the stretch that has a value, 0..1."""
    weight: Floats
    """Share of the periods' time that lies in the stretch, 0..1; NaN without periods."""


def overlaps(start_ns: Integers, end_ns: Integers, begin_ns: Integers, until_ns: Integers) -> Overlaps:
    """All meetings of periods [start, end) with stretches [begin, until).

    Periods are in order of time and do not overlap each other; stretches may do as they like.
    """
    first = np.searchsorted(end_ns, begin_ns, "right")
    behind = np.searchsorted(start_ns, until_ns, "left")
    counts = np.where(until_ns > begin_ns, np.maximum(behind - first, 0), 0)
    stretch = np.repeat(np.arange(len(begin_ns)), counts)
    place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    period = np.repeat(first, counts) + place
    overlap = np.minimum(end_ns[period], until_ns[stretch]) - np.maximum(start_ns[period], begin_ns[stretch])
    length = end_ns[period] - start_ns[period]
    return Overlaps(stretch, period, overlap, length, np.maximum(until_ns - begin_ns, 0))


def join(found: Overlaps, value: Floats) -> Joined:
    """The mean of a value over each stretch, weighted by overlap; a NaN among the values is a missing period."""
    known = ~np.isnan(value[found.period])
    stretch, overlap = found.stretch[known], found.overlap_ns[known].astype(np.float64)
    count = len(found.stretches_ns)
    covered = np.bincount(stretch, overlap, count)
    periods = np.bincount(stretch, found.length_ns[known], count)
    total = np.bincount(stretch, overlap * value[found.period[known]], count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Joined(total / covered, np.nan_to_num(covered / found.stretches_ns), covered / periods)
