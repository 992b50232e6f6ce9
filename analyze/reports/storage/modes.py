"""How many modes a sample has at the least: Silverman's test, on a grid.

For k = 1 to 9 the critical bandwidth is the least with which a Gaussian kernel estimate has at most k modes. The p of k
is the share of smoothed bootstrap samples that need more. The answer is one more than the largest k that is rejected:
a sample of several equal groups need not reject k = 1, whose estimate is nearly flat. Level 0.01, for nine tests.
Sources: B. W. Silverman, JRSS B 43 (1981); the test is conservative: it finds rather too few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from vmtrace.analyze.stats.estimates import Floats

FEWEST = 50
MOST_MODES = 9
LARGEST_P = 0.01
_RESAMPLES = 100
_MOST_VALUES = 1000
_SMALLEST_RATIO = 1.5
"""Of the critical bandwidths with and without a mode: below that it is a ripple, and not tested for."""
_TAIL = 0.02
"""Cut off at both ends: lone values there would be modes of their own."""
_GRID = 512
_SEED = 2007


@dataclass(frozen=True, slots=True)
class Modes:
    """`number` is None below `FEWEST` values; `p` is that of one mode fewer (of one mode, where there is one)."""

    number: int | None
    p: float | None
    n: int


def modes(values: Floats) -> Modes:
    """Of the finite values without their tails; more than 1,000 are drawn from."""
    values = values[np.isfinite(values)]
    n = len(values)
    if n:
        low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
        values = values[(values >= low) & (values <= high)]
    if n < FEWEST or values.max() <= values.min():
        return Modes(None, None, n)
    chance = np.random.default_rng(_SEED)
    if len(values) > _MOST_VALUES:
        values = chance.choice(values, _MOST_VALUES, replace=False)
    widths = [_critical_width(values, number) for number in range(1, MOST_MODES + 2)]
    tests = [
        _p(values, number, widths[number - 1], chance) if widths[number - 1] > _SMALLEST_RATIO * widths[number] else 1.0
        for number in range(1, MOST_MODES + 1)
    ]
    rejected = [number for number, p in enumerate(tests, 1) if p < LARGEST_P]
    return Modes(max(rejected, default=0) + 1, tests[max(rejected, default=1) - 1], n)


def _p(values: Floats, number: int, width: float, chance: np.random.Generator) -> float:
    shrink = 1 / np.sqrt(1 + width * width / float(values.var()))
    middle = float(values.mean())
    drawn = chance.choice(values, (_RESAMPLES, len(values))) + width * chance.standard_normal((_RESAMPLES, len(values)))
    return float(np.mean([_count(middle + shrink * (one - middle), width) > number for one in drawn]))


def _critical_width(values: Floats, number: int) -> float:
    """By bisection: with a Gaussian kernel the number of modes never grows with the width."""
    low, high = 0.0, float(values.max() - values.min())
    for _ in range(24):
        middle = (low + high) / 2
        if _count(values, middle) > number:
            low = middle
        else:
            high = middle
    return high


def _count(values: Floats, width: float) -> int:
    """Modes of the kernel estimate."""
    low, high = float(values.min()) - 3 * width, float(values.max()) + 3 * width
    counts, _ = np.histogram(values, _GRID, (low, high))
    smooth = gaussian_filter1d(counts.astype(np.float64), width * _GRID / (high - low), mode="constant")
    changes = np.sign(np.diff(np.concatenate([[0.0], smooth, [0.0]])))
    changes = changes[changes != 0]
    return int(((changes[:-1] > 0) & (changes[1:] < 0)).sum())
