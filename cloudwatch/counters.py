"""Counters that accumulate told from counts of a period, and what the former counted in each period.

A counter since some start never falls but when it starts again; counts of single periods fall about as often as they
rise. A short or unchanging series is no evidence: then what is documented of the metric decides, else nobody knows.
What has fractions is a level.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vmtrace.cloudwatch.periods import NS

_MOST_RESETS_SHARE = 0.1
"""More falls than this among all changes: no driver or agent starts anew so often. One is always allowed to what is
documented to accumulate."""
_FEWEST_RISES = 5
"""Counts of periods that are all alike rise 5 times in a row by chance once in 720 series."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a series, and the start of its period."""

    start_ns: int
    value: float


def is_cumulative(values: Sequence[float], *, documented: bool = False) -> bool | None:
    """Whether values in order of time accumulate; None if neither they nor what is documented of the metric tell."""
    steps = [later - earlier for earlier, later in pairwise(values)]
    rises, falls = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    if any(value < 0 or value != int(value) for value in values):
        return False
    if falls > max(_MOST_RESETS_SHARE * (rises + falls), documented):
        return False
    return True if documented or rises >= _FEWEST_RISES else None


def deltas(samples: Sequence[Sample], period_s: int) -> Iterator[float | None]:
    """What a cumulative counter counted from each sample's predecessor to it, in the order of the samples.

    None for the first, after a reset (the counter fell: what was counted before it is not known), and where the
    predecessor is not the period just before: a difference over several periods belongs to none of them.
    """
    before: Sample | None = None
    for sample in samples:
        consecutive = before is not None and sample.start_ns - before.start_ns == period_s * NS
        step = sample.value - before.value if before is not None and consecutive else None
        yield step if step is not None and step >= 0 else None
        before = sample
