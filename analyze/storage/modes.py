"""How many modes a sample has: Silverman's test, on a grid.

For k = 1, 2, ... the critical bandwidth is the least with which a Gaussian kernel estimate has at most k modes. Its
p is the share of smoothed bootstrap samples that need more; the first k that is not rejected is the answer. Sources:
B. W. Silverman, JRSS B 43 (1981); for more than one mode the test is conservative: it finds rather too few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from analyze.run.statistics import Floats

FEWEST = 50
MOST_MODES = 9
LARGEST_P = 0.05
_RESAMPLES = 100
_MOST_VALUES = 2000
_GRID = 512
_SEED = 2007


@dataclass(frozen=True, slots=True)
class Modes:
    """`number` is None below `FEWEST` values; `p` is that of the last test, which did not reject."""

    number: int | None
    p: float | None
    n: int


def modes(values: Floats) -> Modes:
    """Of the finite values; more than 2,000 are drawn from."""
    values = values[np.isfinite(values)]
    n = len(values)
    if n < FEWEST or values.max() <= values.min():
        return Modes(None, None, n)
    chance = np.random.default_rng(_SEED)
    if n > _MOST_VALUES:
        values = chance.choice(values, _MOST_VALUES, replace=False)
    p: float | None = None
    for number in range(1, MOST_MODES + 1):
        p = _p(values, number, chance)
        if p > LARGEST_P:
            return Modes(number, p, n)
    return Modes(MOST_MODES + 1, p, n)


def _p(values: Floats, number: int, chance: np.random.Generator) -> float:
    width = _critical_width(values, number)
    variance = float(values.var())
    shrink = 1 / np.sqrt(1 + width * width / variance)
    middle = float(values.mean())
    more = 0
    for _ in range(_RESAMPLES):
        drawn = chance.choice(values, len(values)) + width * chance.standard_normal(len(values))
        more += _count(middle + shrink * (drawn - middle), width) > number
    return more / _RESAMPLES


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
