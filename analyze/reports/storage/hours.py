"""Whether the hour of the day matters: pairs of hours (Garfinkel, section 5.4), and all of them together.

Requests near in time are alike (r up to 0.85 in the study), so that a hundred of one hour may be worth five. What
repeats is the day: hours are compared by their means on the same days, and all together with each day's hours turned by
a random number. Both take five days, without which an hour is only a time at which something else may have happened.
Sources: H. von Storch, F. Zwiers, Statistical Analysis in Climate Research (1999), section 6.6, for the number of days
that count; D. Lahiri, Resampling Methods for Dependent Data (2003), section 2.7, for turning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from vmtrace.analyze.reports.storage.requests import Ints, Requests
from vmtrace.analyze.stats.association import autocorrelation
from vmtrace.analyze.stats.estimates import Floats, holm, ranks
from vmtrace.analyze.tables.schema.typed import Share

DAY_NS, HOUR_NS = 86_400 * 10**9, 3600 * 10**9
FEWEST_DAYS = 5
_HOURS = 24
_TURNS = 999
_SEED = 2008


@dataclass(frozen=True, slots=True)
class HourTest:
    """Two-tailed paired t-test of two hours' means on the same days; p adjusted for all such tests (Holm)."""

    size_bytes: int
    direction: str
    first_hour: int
    second_hour: int
    first_n: int
    second_n: int
    days: int
    """On which both hours have requests."""
    days_effective: float
    """What they are worth as independent ones."""
    first_mean_bps: float
    second_mean_bps: float
    t: float
    freedom: float
    p: Share
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class _Cells:
    """Sums and counts of values by day (rows) and hour of the day."""

    sums: Floats
    counts: Floats

    @property
    def means(self) -> Floats:
        """NaN of an hour without a value."""
        with np.errstate(invalid="ignore"):
            means: Floats = self.sums / self.counts
        return means


def hour_test_rows(requests: Requests) -> list[HourTest]:
    """Every pair of hours with five common days, the most unlikely first."""
    found: list[tuple[int, str, int, int, int, int, int, float, float, float, float, float, float]] = []
    for size, direction, there in requests.kinds():
        places = np.flatnonzero(there & np.isfinite(requests.bps))
        cells = _cells(requests.start_ns[places], requests.bps[places])
        n, sums = cells.counts.sum(axis=0), cells.sums.sum(axis=0)
        for one, other in combinations(np.flatnonzero(n).tolist(), 2):
            test = _paired(cells.means[:, one] - cells.means[:, other])
            if test is not None:
                days, effective, t, p = test
                found.append(
                    (size, direction, one, other, int(n[one]), int(n[other]), days, effective,
                     float(sums[one] / n[one]), float(sums[other] / n[other]), t, effective - 1, p)
                )  # fmt: skip
    adjusted = holm([one[-1] for one in found])
    tests = [HourTest(*one, 1.0 if p is None else p) for one, p in zip(found, adjusted, strict=True)]
    return sorted(tests, key=lambda one: one.p)


def hour_effect(rates: Floats, start_ns: Ints) -> tuple[float | None, float | None]:
    """Kruskal and Wallis' p over the hours of the day, by turning days, and the share of the variation of ranks."""
    cells = _cells(start_ns, ranks(rates)) if len(rates) else None
    if cells is None or len(cells.counts) < FEWEST_DAYS or np.ptp(rates) == 0:
        return None, None
    if np.count_nonzero(cells.counts.sum(axis=0)) < 2:
        return None, None
    seen = _statistic(cells)
    chance = np.random.default_rng(_SEED)
    hours = np.arange(_HOURS)
    as_far = 0
    for _ in range(_TURNS):
        turned = (hours + chance.integers(0, _HOURS, (len(cells.counts), 1))) % _HOURS
        made = _Cells(np.take_along_axis(cells.sums, turned, 1), np.take_along_axis(cells.counts, turned, 1))
        as_far += _statistic(made) >= seen * (1 - 1e-12)
    return (1 + as_far) / (1 + _TURNS), seen / (len(rates) - 1)


def _cells(start_ns: Ints, values: Floats) -> _Cells:
    _, days = np.unique(start_ns // DAY_NS, return_inverse=True)
    places = days * _HOURS + start_ns // HOUR_NS % _HOURS
    size = _HOURS * (int(days.max()) + 1 if len(days) else 0)
    sums, counts = (np.bincount(places, one, size).reshape(-1, _HOURS) for one in (values, np.ones(len(values))))
    return _Cells(sums.astype(np.float64), counts.astype(np.float64))


def _paired(differences: Floats) -> tuple[int, float, float, float] | None:
    """Days, days that count, t and p of a mean difference."""
    from scipy.special import stdtr

    known = differences[np.isfinite(differences)]
    days = len(known)
    if days < FEWEST_DAYS or np.ptp(known) == 0:
        return None
    # Found too small by about this much: Kendall, Biometrika 41 (1954).
    found = float(autocorrelation(known, 1)[0])
    alike = min(max(0.0, found + (1 + 3 * found) / days), 0.99)
    effective = max(days * (1 - alike) / (1 + alike), 2.0)
    t = float(known.mean()) / (float(known.std(ddof=1)) / math.sqrt(effective))
    return days, effective, t, 2 * float(stdtr(effective - 1, -abs(t)))


def _statistic(cells: _Cells) -> float:
    """Kruskal and Wallis', of ranks."""
    counts, sums = cells.counts.sum(axis=0), cells.sums.sum(axis=0)
    n, there = counts.sum(), counts > 0
    return float(12 / (n * (n + 1)) * (sums[there] ** 2 / counts[there]).sum() - 3 * (n + 1))
