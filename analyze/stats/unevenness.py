"""Whether events lie together or apart: the distances between them against those of independent events.

Of `n` places `k` are hit. Independent hits leave k + 1 distances (those to both ends among them) that are exchangeable
and geometric; how uneven they are is their coefficient of variation. Drawn anew, they say what is usual, and how often
chance is as uneven: above 1 hits come in bursts, below 1 more evenly than by chance. The ratio of squares is that of
M. Greenwood (J. R. Stat. Soc. 109, 1946). Several series are put together by their normal deviates (S. A. Stouffer),
each weighted by the root of its hits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from vmtrace.analyze.stats.estimates import Floats, two_sided_p

FEWEST = 5
"""Hits; distances of fewer say nothing."""
_DRAWS, _FEWEST_DRAWS = 1999, 199
_AT_ONCE = 4_000_000
_SEED = 19460101


@dataclass(frozen=True, slots=True)
class Unevenness:
    """Of the distances between events."""

    hits: int
    ratio: float
    """Their coefficient of variation over that of independent events; 1 for those."""
    chance: float
    """The share of independent series that are at least as uneven, between 0 and 1."""

    @property
    def p_value(self) -> float:
        """Two-sided."""
        return min(1.0, 2 * min(self.chance, 1 - self.chance))


def unevenness(places: Floats, n: int) -> Unevenness | None:
    """Of hits at these of the places 0 to n - 1; None of fewer than five, or where most places are hit."""
    hit = np.unique(places)
    if len(hit) < FEWEST or 2 * len(hit) > n:
        return None
    distances = np.diff(np.concatenate([[-1], hit, [n]]))
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _AT_ONCE // len(distances)))
    generator = np.random.default_rng([_SEED, len(hit), n])
    drawn = _log_variation(generator.geometric(len(distances) / (n + 1), (draws, len(distances))).astype(np.float64))
    found = float(_log_variation(distances[np.newaxis].astype(np.float64))[0])
    as_far = np.count_nonzero(drawn > found) + 0.5 * np.count_nonzero(drawn == found)
    usual = float(drawn[np.isfinite(drawn)].mean())
    return Unevenness(len(hit), math.exp(found - usual), (0.5 + float(as_far)) / (1 + draws))


def together(series: Sequence[Unevenness]) -> Unevenness | None:
    """Several as one; the ratio is the mean of logarithms, by hits."""
    if not series:
        return None
    if len(series) == 1:
        return series[0]
    hits = np.array([one.hits for one in series], np.float64)
    deviates = np.array([NormalDist().inv_cdf(1 - one.chance) for one in series])
    logarithms = np.log([max(one.ratio, 1e-9) for one in series])
    deviate = float((np.sqrt(hits) * deviates).sum() / math.sqrt(hits.sum()))
    above = two_sided_p(deviate) / 2
    chance = above if deviate > 0 else 1 - above
    return Unevenness(int(hits.sum()), math.exp(float((hits * logarithms).sum() / hits.sum())), chance)


def _log_variation(distances: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logarithms: Floats = np.log(distances.std(axis=1) / distances.mean(axis=1))
    return logarithms
