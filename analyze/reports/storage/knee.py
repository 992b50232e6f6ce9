"""The knee of a curve of throughput over threads or connections: where more of them no longer bring more.

The curve is taken as a ramp through the origin that ends in a plateau: slope x min(number, knee), fitted by least
squares of relative errors. The interval is of 500 bootstrap samples (within each number). No knee is reported where
the ramp goes on to the last number, or only one number was tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.stats.estimates import CONFIDENCE, Floats

_RESAMPLES = 500
_GRID = 200
_SEED = 2013
_AT_THE_END = 0.98


@dataclass(frozen=True, slots=True)
class Knee:
    """`at` None: none within what was tried. The interval is None with fewer than three values at each number."""

    at: float | None
    low: float | None
    high: float | None
    plateau_bps: float | None


def knee(values: Mapping[int, Sequence[float]]) -> Knee:
    """`values`: throughput by number of threads or connections."""
    numbers = sorted(number for number, found in values.items() if len(found))
    if len(numbers) < 3:
        return Knee(None, None, None, None)
    x = np.array(numbers, np.float64)
    at, plateau = _fitted(x, np.array([np.mean(values[number]) for number in numbers]))
    if at >= _AT_THE_END * x[-1]:
        return Knee(None, None, None, None)
    low = high = None
    if min(len(values[number]) for number in numbers) >= 3:
        chance = np.random.default_rng(_SEED)
        drawn = [
            _fitted(x, np.array([np.mean(chance.choice(values[number], len(values[number]))) for number in numbers]))[0]
            for _ in range(_RESAMPLES)
        ]
        tail = (1 - CONFIDENCE) / 2
        low, high = (float(one) for one in np.quantile(drawn, [tail, 1 - tail]))
    return Knee(at, low, high, plateau)


def _fitted(x: Floats, y: Floats) -> tuple[float, float]:
    """Knee and plateau."""
    candidates = np.geomspace(x[0], x[-1], _GRID)
    shapes = np.minimum(x[None, :], candidates[:, None]) / np.maximum(y, 1e-9)[None, :]
    slopes = shapes.sum(axis=1) / (shapes**2).sum(axis=1)  # least squares of 1 = slope * shape
    errors = ((1 - slopes[:, None] * shapes) ** 2).sum(axis=1)
    best = int(np.argmin(errors))
    return float(candidates[best]), float(slopes[best] * candidates[best])
