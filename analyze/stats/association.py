"""How two series of a run go together: rank correlation at the best of several lags, with an honest p-value.

Transfers near in time are alike, and so are the readings beside them: two series that each drift look related by
chance. So a correlation of n transfers is tested as one of fewer: Pyper and Peterman (Can. J. Fish. Aquat. Sci. 55,
1998, after Chelton 1984), 1/N* = 1/N + 2/N sum_j ((N-j)/N) r_xx(j) r_yy(j), j up to N/5. Trying several lags is paid
for by multiplying the p-value with their number (Bonferroni), asking many metrics by Holm's step-down method
(Scand. J. Statistics 6, 1979).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.stats.estimates import NORMAL_QUANTILE, Estimate, Floats, ranks, two_sided_p

FEWEST = 10
"""Transfers with a value; below, hardly any correlation is beyond chance."""
_FEWEST_EFFECTIVE = 5.0
CLEARLY_STRONGER = 1.25
"""Neighbouring lags of a smooth series are about as strong: another one than none must be this much stronger."""
_SPEARMAN_VARIANCE = 0.5
"""The standard error of Fisher's z is sqrt((1 + r²/2)/(n-3)) for ranks: Bonett and Wright, Psychometrika 65 (2000)."""


@dataclass(frozen=True, slots=True)
class Association:
    """Two series together. `reason` says why there is no correlation."""

    spearman: Estimate
    pearson: Estimate
    n_effective: float | None
    lag: int
    """In periods: positive if the metric comes first."""
    lags_tried: int
    p_value: float | None
    """Two-sided, of Spearman's correlation, corrected for the lags."""
    reason: str | None = None


def associate(y: Floats, x_by_lag: "dict[int, Floats]", groups: NDArray[np.int64]) -> Association:
    """The association of `y` with a metric at the best lag. NaN is not measured; values are in order of time.

    Differences between groups (indices of the plan) are taken out of both first: large transfers are faster and load a
    host more, which is about sizes.
    """
    tried = {lag: _at(y, x, groups) for lag, x in x_by_lag.items()}
    known = {lag: one for lag, one in tried.items() if one.z is not None}
    if not known:
        without = tried[0] if 0 in tried else next(iter(tried.values()))
        return Association(without.spearman, without.pearson, None, 0, len(tried), None, without.reason)
    best = max(known, key=lambda lag: (abs(known[lag].z or 0.0), -abs(lag)))
    if 0 in known and abs(known[0].z or 0.0) * CLEARLY_STRONGER >= abs(known[best].z or 0.0):
        best = 0
    one = known[best]
    p_value = min(1.0, len(tried) * two_sided_p(one.z or 0.0))
    return Association(one.spearman, one.pearson, one.n_effective, best, len(tried), p_value)


def centred(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """Values without the medians of their groups."""
    result = values.copy()
    for group in np.unique(groups):
        here = groups == group
        known = values[here & ~np.isnan(values)]
        if len(known):
            result[here] -= np.median(known)
    return result


def effective_number(x: Floats, y: Floats) -> float:
    """How many independent pairs these pairs in order of time are worth; at most as many as they are."""
    n = len(x)
    most = n // 5
    if most < 1:
        return float(n)
    lags = np.arange(1, most + 1)
    together = autocorrelation(x, most) * autocorrelation(y, most)
    inverse = 1 / n + 2 / n * float(np.sum((n - lags) / n * together))
    return float(n) if inverse <= 1 / n else 1 / inverse


def autocorrelation(values: Floats, most: int) -> Floats:
    """Of values in order of time, at lags 1 to `most`, by the Fourier transform."""
    deviations = values - values.mean()
    length = 1 << (2 * len(values) - 1).bit_length()
    power = np.abs(np.fft.rfft(deviations, length)) ** 2
    products = np.fft.irfft(power, length)[: most + 1]
    if products[0] <= 0:
        return np.zeros(most)
    correlation: Floats = products[1:] / products[0]
    return correlation


@dataclass(frozen=True, slots=True)
class _AtLag:
    spearman: Estimate
    pearson: Estimate
    n_effective: float | None = None
    z: float | None = None
    """Standard normal if there is no association."""
    reason: str | None = None


def _at(y: Floats, x: Floats, groups: NDArray[np.int64]) -> _AtLag:
    there = ~(np.isnan(x) | np.isnan(y))
    n = int(there.sum())
    none = Estimate(None, None, None, n)
    if n < FEWEST:
        return _AtLag(none, none, reason=f"{n} transfers with a value, {FEWEST} are needed")
    known = x[there]
    if float(np.ptp(known)) <= 1e-12 * float(np.abs(known).max()):
        return _AtLag(none, none, reason="it never changed")
    inside = groups[there]
    x_in, y_in = centred(known, inside), centred(y[there], inside)
    if not np.ptp(x_in) or not np.ptp(y_in):
        return _AtLag(none, none, reason="it never changed among transfers of the same index")
    x_rank, y_rank = ranks(x_in), ranks(y_in)
    effective = effective_number(x_rank, y_rank) - (len(np.unique(inside)) - 1)
    if effective < _FEWEST_EFFECTIVE:
        reason = f"{n} transfers so alike in time that they are worth {max(effective, 0.0):.1f}"
        return _AtLag(none, none, max(effective, 0.0), reason=reason)
    spearman, z = _tested(_correlation(x_rank, y_rank), n, effective, _SPEARMAN_VARIANCE)
    pearson, _ = _tested(_correlation(x_in, y_in), n, effective, 0.0)
    return _AtLag(spearman, pearson, effective, z)


def _correlation(x: Floats, y: Floats) -> float:
    """Pearson's. Asked at every lag of every metric, where scipy's checks took ten times as long as the sum."""
    x, y = x - x.mean(), y - y.mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    return min(1.0, max(-1.0, float(x @ y) / size)) if size else 0.0


def _tested(r: float, n: int, effective: float, extra_variance: float) -> tuple[Estimate, float]:
    """The correlation with its interval, and its distance from none in standard errors."""
    error = math.sqrt((1 + extra_variance * r * r) / (effective - 3))
    z = math.atanh(min(1 - 1e-12, max(-1 + 1e-12, r)))
    half = NORMAL_QUANTILE * error
    return Estimate(r, math.tanh(z - half), math.tanh(z + half), n), z / error
