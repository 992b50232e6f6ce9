"""Shifts of the level of a series whose neighbours are alike: where, and how often chance gives as large ones.

Up to four shifts are placed one after the other, each where it leaves the least squares. The share of the variation
that one, two or three of them explain is compared with that of made series without a shift, whose values depend on the
one before (autoregressive, first order). How much they do is read off what four shifts leave; that is too little, and
as much too little in made series. The next larger one of the grid is taken, since too little dependence finds too many
shifts. A short series may follow a wander that is longer than itself; there a shift must be sudden, too.
Sources: D. M. Hawkins, JASA 72 (1977), for the statistic; J. G. MacKinnon, A. A. Smith, Journal of Econometrics 85
(1998), for an estimate corrected by simulation; p values as in `two_samples`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.stats.association import autocorrelation
from vmtrace.analyze.stats.estimates import Floats

FEWEST_EACH_SIDE = 5
MOST_VALUES = 60
"""Of a longer series medians of neighbours are to be taken: dependence at short lags is nothing then."""
_DEPENDENCE = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 0.99)
_MADE, _MADE_FOR_DEPENDENCE = 4_999, 500
_MOST_AT_ONCE, _FOR_DEPENDENCE = 3, 4
_LAGS = (1, 2)
"""Noise beside a slow wander hides it at the first lag more than at the second."""
_NEIGHBOURS = 3
_SUDDEN = 4.0
"""Robust standard deviations of the differences of all neighbouring stretches of `_NEIGHBOURS` values."""
_SEED = 1979
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Shifts:
    """`places` are those of the first values behind them; they hold together, with one p."""

    places: tuple[int, ...]
    sudden: tuple[bool, ...]
    p: float


def level_shifts(values: Floats) -> Shifts | None:
    """As few as explain the series best; None where it is too short, or never changes."""
    n = len(values)
    if n < 2 * FEWEST_EACH_SIDE or np.ptp(values) <= _TINY * np.abs(values).max():
        return None
    explained, dependence, places = (one[0] for one in _statistics(values[np.newaxis, :]))
    likely = int(np.searchsorted(_dependence_found(n), dependence)) + 1
    made, least = _by_chance(n, _DEPENDENCE[min(likely, len(_DEPENDENCE) - 1)])
    p = _shares(made, explained[np.newaxis, :])[0]
    number = int(np.argmin(p)) + 1
    chosen = np.sort(places[:number])
    as_rare = int(np.searchsorted(least, p.min(), side="right"))
    found = tuple(int(place) for place in chosen if place)
    return Shifts(found, tuple(_is_sudden(values, place) for place in found), (1 + as_rare) / (1 + len(least)))


def shift_at(values: Floats, place: int) -> float:
    """The p of a shift at a place that the values did not choose: a t-test of as many as they are worth."""
    from scipy.special import stdtr

    n, sides = len(values), (values[:place], values[place:])
    rest = np.concatenate([side - side.mean() for side in sides])
    found = float(autocorrelation(rest, 1)[0])
    # Found too small by about this much: Kendall, Biometrika 41 (1954).
    alike = min(max(0.0, found + (1 + 3 * found) / n), 0.99)
    worth = (1 - alike) / (1 + alike)
    freedom = n * worth - 2
    error = float(np.sqrt((rest**2).sum() / max(n - 2, 1) * sum(1 / (worth * len(side)) for side in sides)))
    if freedom <= 0 or error <= 0:
        return 1.0 if freedom <= 0 else 0.0
    return 2 * float(stdtr(freedom, -abs(float(sides[1].mean() - sides[0].mean())) / error))


def _statistics(rows: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Of each row: the shares of squares that 1, 2 and 3 shifts explain, the dependence that is left, and places."""
    count, n = rows.shape
    rows = rows - rows.mean(axis=1, keepdims=True)
    sums = np.concatenate([np.zeros((count, 1)), np.cumsum(rows, axis=1)], axis=1)
    total = (rows**2).sum(axis=1)
    each, at = np.arange(count), np.arange(n)
    first, last = np.zeros((count, n), np.int64), np.full((count, n), n)
    explained, places = np.zeros((count, _FOR_DEPENDENCE)), np.zeros((count, _FOR_DEPENDENCE), np.int64)
    for number in range(_FOR_DEPENDENCE):
        fits = (at - first >= FEWEST_EACH_SIDE) & (last - at >= FEWEST_EACH_SIDE)
        before, after = np.maximum(at - first, 1), last - at
        low, high = np.take_along_axis(sums, first, 1), np.take_along_axis(sums, last, 1)
        middle = sums[:, :-1]
        gain = (middle - low) ** 2 / before + (high - middle) ** 2 / after - (high - low) ** 2 / (last - first)
        gain[~fits] = 0.0
        place = gain.argmax(axis=1)
        explained[:, number], places[:, number] = gain[each, place], place
        own = (first == first[each, place][:, np.newaxis]) & (place > 0)[:, np.newaxis]
        behind = own & (at >= place[:, np.newaxis])
        first = np.where(behind, place[:, np.newaxis], first)
        last = np.where(own & ~behind, place[:, np.newaxis], last)
    means = (np.take_along_axis(sums, last, 1) - np.take_along_axis(sums, first, 1)) / (last - first)
    rest = rows - means
    squares = np.maximum((rest**2).sum(axis=1), _TINY * total)
    left = [(rest[:, lag:] * rest[:, :-lag]).sum(axis=1) / squares for lag in _LAGS]
    dependence = np.max([np.sign(one) * np.abs(one) ** (1 / lag) for one, lag in zip(left, _LAGS, strict=True)], axis=0)
    return (np.cumsum(explained, axis=1) / total[:, np.newaxis])[:, :_MOST_AT_ONCE], dependence, places


@lru_cache(maxsize=64)
def _dependence_found(n: int) -> Floats:
    """The median that is found of so many values, for each true dependence."""
    found = [np.median(_statistics(_made(n, true, _MADE_FOR_DEPENDENCE))[1]) for true in _DEPENDENCE]
    return np.maximum.accumulate(np.array(found))


@lru_cache(maxsize=128)
def _by_chance(n: int, dependence: float) -> tuple[Floats, Floats]:
    """What 1, 2 and 3 shifts explain of made series (columns, in order), and the rarest of the three of each series."""
    explained = _statistics(_made(n, dependence, _MADE))[0]
    made = np.sort(explained, axis=0)
    return made, np.sort(_shares(made, explained).min(axis=1))


def _shares(made: Floats, explained: Floats) -> Floats:
    """How many of the made series have as much explained, by number of shifts."""
    counts = [len(made) - np.searchsorted(made[:, one], explained[:, one]) for one in range(made.shape[1])]
    return np.stack(counts, axis=1) / len(made)


def _made(n: int, dependence: float, rows: int) -> Floats:
    values = np.random.default_rng([_SEED, n]).standard_normal((rows, n))
    scale = np.sqrt(1 - dependence**2)
    for place in range(1, n):
        values[:, place] = dependence * values[:, place - 1] + scale * values[:, place]
    return values


def _is_sudden(values: Floats, place: int) -> bool:
    """Whether the values on either side of the place differ as no others do."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    stretches = (sums[_NEIGHBOURS:] - sums[:-_NEIGHBOURS]) / _NEIGHBOURS
    differences = stretches[_NEIGHBOURS:] - stretches[:-_NEIGHBOURS]
    usual = 1.4826 * float(np.median(np.abs(differences - np.median(differences))))
    here = differences[max(0, place - _NEIGHBOURS - 1) : place - _NEIGHBOURS + 2]
    return bool(np.abs(here).max() >= _SUDDEN * usual)
