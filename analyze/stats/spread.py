"""How unstable throughput is: its coefficient of variation, with an interval, over transfers of like size."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.stats.coefficient import coefficient_of_variation
from vmtrace.analyze.stats.estimates import ABSENT, Estimate, Floats

STEADY = 0.1
"""A spread that is called steady: chosen here, about what repeated transfers on a quiet path show."""
FEWEST_OF_INDEX = 3
"""Transfers of an index, to be compared with their median."""

Steadiness = Literal["steady", "unstable", "undecided", "too_few"]


@dataclass(frozen=True, slots=True)
class Spread:
    """Relative throughput of transfers: each over the median of its index."""

    coefficient_of_variation: Estimate
    """Standard deviation over mean, of what all indices have in common."""
    relative_p5: float | None
    relative_p95: float | None
    judgement: Steadiness

    @property
    def transfers(self) -> int:
        """How many it is of."""
        return self.coefficient_of_variation.n


def relative(throughput_bps: Floats, groups: NDArray[np.int64]) -> Floats:
    """Throughput over the median of its group; NaN in groups too small to have a usual value, or without throughput."""
    result = np.full(len(throughput_bps), np.nan)
    for group in np.unique(groups):
        here = groups == group
        usual = float(np.median(throughput_bps[here]))
        if here.sum() >= FEWEST_OF_INDEX and usual > 0:
            result[here] = throughput_bps[here] / usual
    return result


def spread(values: Floats, groups: NDArray[np.int64] | None = None) -> Spread:
    """The spread of relative throughput, of one index or of several."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Spread(ABSENT, None, None, "too_few")
    variation = coefficient_of_variation(values, groups)
    p5, p95 = (float(value) for value in np.quantile(known, [0.05, 0.95]))
    return Spread(variation, p5, p95, _judged(variation))


def _judged(variation: Estimate) -> Steadiness:
    if variation.low is None or variation.high is None:
        return "too_few"
    if variation.high <= STEADY:
        return "steady"
    return "unstable" if variation.low >= STEADY else "undecided"
