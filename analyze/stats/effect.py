"""How much lower throughput is for transfers with much of something than for those with little.

Transfers are split by the metric alone, never by what throughput did: with some of it against with none, or at the
natural break of its values (the two classes that differ least within themselves: N. Otsu, IEEE Trans. SMC 9, 1979).
The effect is between medians of relative throughput; its interval is that of bootstrap samples as large as the
transfers are worth when neighbours in time are alike.
"""

import math
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.read.side.metrics import Harm, Split
from vmtrace.analyze.stats.estimates import ABSENT, CONFIDENCE, Estimate, Floats

_FEWEST_IN_CLASS = 5
_LEAST_SHARE, _ENOUGH_IN_CLASS = 0.1, 20
_RESAMPLES = 2000
_SEED = 20110701


@dataclass(frozen=True, slots=True)
class Effect:
    """Throughput of the transfers beyond the threshold against that of the others."""

    threshold: float | None
    """Of the metric: beyond it is above it, for one that harms when it is low: at it or below."""
    transfers_beyond: int | None
    lower: Estimate
    """By which share throughput is lower there; below 0 it is higher."""
    reason: str | None = None


def effect(relative: Floats, x: Floats, harm: Harm, split: Split, worth: float = 1.0) -> Effect:
    """The effect of a metric on relative throughput. `worth` is the effective over the true number of transfers."""
    there = ~(np.isnan(relative) | np.isnan(x))
    relative, x = relative[there], x[there]
    least = min(_ENOUGH_IN_CLASS, max(_FEWEST_IN_CLASS, math.ceil(_LEAST_SHARE * len(x))))
    threshold = _threshold(x, split, least)
    if threshold is None:
        return Effect(None, None, ABSENT, f"no {least} transfers on either side of any level")
    beyond = x > threshold if harm == "high" else x <= threshold
    with_it, others = np.sort(relative[beyond]), np.sort(relative[~beyond])
    base = float(np.median(others))
    if base <= 0:
        return Effect(threshold, int(beyond.sum()), ABSENT, "the other transfers have no throughput")
    value = 1 - float(np.median(with_it)) / base
    generator = np.random.default_rng(_SEED)
    medians = [_resampled_medians(part, worth, generator) for part in (with_it, others)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = 1 - medians[0] / medians[1]
    ratios = ratios[np.isfinite(ratios)]
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Effect(threshold, int(beyond.sum()), Estimate(value, float(low), float(high), len(x)))


def _resampled_medians(ordered: Floats, worth: float, generator: np.random.Generator) -> Floats:
    """Medians of bootstrap samples, drawn directly.

    Of m values drawn with replacement the middle one is that at the place of the middle of m uniform numbers, which is
    distributed as Beta((m+1)/2, (m+1)/2), for odd m exactly.
    """
    size = max(1, math.floor(worth * len(ordered)))
    half = (size + 1) // 2
    places = np.floor(len(ordered) * generator.beta(half, half, _RESAMPLES)).astype(np.int64)
    medians: Floats = ordered[np.minimum(places, len(ordered) - 1)]
    return medians


def _threshold(x: Floats, split: Split, least: int) -> float | None:
    """Where transfers are split, with at least so many on either side; None where they cannot be."""
    ordered = np.sort(x)
    n = len(ordered)
    if n < 2 * least:
        return None
    if split == "any":
        none = int((ordered <= 0).sum())
        if none >= least and n - none >= least:
            return 0.0
    cuts = np.arange(least, n - least + 1)
    cuts = cuts[ordered[cuts - 1] < ordered[cuts]]
    if not len(cuts):
        return None
    sums = np.cumsum(ordered)
    below, above = sums[cuts - 1] / cuts, (sums[-1] - sums[cuts - 1]) / (n - cuts)
    cut = int(cuts[np.argmax(cuts * (n - cuts) * (above - below) ** 2)])
    return _plain_number(float(ordered[cut - 1]), float(ordered[cut]))


def _plain_number(low: float, high: float) -> float:
    """The number with the fewest digits t with low <= t < high: it splits as `low` does, and can be said."""
    if not 1e-100 < max(abs(low), abs(high)) < 1e100:
        return low
    for digits in range(1, 16):
        scale = 10.0 ** (digits - 1 - math.floor(math.log10(max(abs(low), abs(high)))))
        for candidate in (math.ceil(low * scale) / scale, math.floor((low + high) / 2 * scale) / scale):
            if low <= candidate < high:
                return candidate
    return low
