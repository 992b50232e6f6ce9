"""Lines under clouds of delays: the lower convex hull, and the slope that several clouds have in common."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.compare.arrays import Floats

_BINS = 20_000
_FEW_POINTS = 50
_MOSTLY_CORNERS = 0.9
_HOST_JITTER_S = 100e-6
"""A few packets say no more: hosts are slower by so much when they wake up."""
_POINTS_OF_A_STRETCH = 16
_FEWEST_STRETCHES = 6
_MOST_STRETCHES = 64


@dataclass(frozen=True, slots=True)
class Hull:
    """Corners of the lower convex hull of points, from left to right, and the points' mean."""

    x: Floats
    y: Floats
    mean_x: float
    mean_y: float
    noise: float
    """How far an ordinary point lies above the hull (median)."""

    def lowest(self, slope: float) -> float:
        """Height at x = 0 of the highest line of this slope under all points."""
        return float((self.y - slope * self.x).min())

    def slopes(self) -> Floats:
        """Slopes of its edges, rising."""
        slopes: Floats = np.diff(self.y) / np.diff(self.x)
        return slopes

    def above(self, slopes: Floats) -> Floats:
        """For each slope, how far the points lie on average above the highest line of that slope under them."""
        lowest = (self.y[:, None] - self.x[:, None] * slopes).min(axis=0)
        distances: Floats = self.mean_y - slopes * self.mean_x - lowest
        return distances


def lower_hull(x: Floats, y: Floats) -> Hull:
    """The lower convex hull (Andrew's monotone chain), of the lowest points of many narrow bins."""
    keep_x, keep_y = _without_dents(*_lowest_of_bins(x, y))
    corners: list[tuple[float, float]] = []
    for point in zip(keep_x.tolist(), keep_y.tolist(), strict=True):
        while len(corners) > 1 and _turns_right(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    hull_x, hull_y = np.array(corners).T
    noise = float(np.median(y - np.interp(x, hull_x, hull_y)))
    return Hull(hull_x, hull_y, float(x.mean()), float(y.mean()), noise)


def common_slope(clouds: Sequence[tuple[float, Hull]]) -> tuple[float, float] | None:
    """The slope b for which lines of slope sign * b lie closest under their clouds, and how uncertain it is.

    The sum of the distances is convex in b and bends only at slopes of the hulls' edges, so that its least value is
    there. A cloud counts by how close its points lie to its hull: a queue that stands tells little of the clock.
    """
    useful = [(sign, hull) for sign, hull in clouds if len(hull.x) > 1]
    if not useful:
        return None
    slopes = np.unique(np.concatenate([sign * hull.slopes() for sign, hull in useful]))
    span = max(float(np.ptp(hull.x)) for _, hull in useful)
    total = sum(hull.above(sign * slopes) / max(hull.noise, 1e-6) * np.ptp(hull.x) / span for sign, hull in useful)
    noise = max(4 * min(hull.noise for _, hull in useful), _HOST_JITTER_S)
    return float(slopes[np.argmin(total)]), noise / span


def feasible_distance(
    forward: Hull, backward: Hull, line: tuple[float, float], steeper: float, x: Sequence[float]
) -> float:
    """How far, at any of these `x`, from this line (its height at 0, its slope) another may be that lies under the
    forward points and over the backward ones (turned round), and is no more than `steeper` steeper or flatter: how far
    one clock can be ahead of what is told if no delay is below nothing.

    Where no line is both, the one that fails by least.
    """
    height, slope = line
    bends = np.concatenate([[slope - steeper, slope + steeper], forward.slopes(), -backward.slopes()])
    bends = np.unique(bends[np.abs(bends - slope) <= steeper * (1 + 1e-9)])
    room = _room(forward, backward, bends)
    # The room is concave in the slope and bends only there: it ends between one bend that has some and one without.
    ends = [
        one + (other - one) * here / (here - there)
        for one, other, here, there in zip(bends[:-1], bends[1:], room[:-1], room[1:], strict=True)
        if (here < 0) != (there < 0)
    ]
    slopes = np.array([*(bends[room >= 0]), *ends]) if ends or (room >= 0).any() else bends[[int(np.argmax(room))]]
    highest = np.array([forward.lowest(slope) for slope in slopes])
    lowest = np.array([-backward.lowest(-slope) for slope in slopes])
    apart = np.array([edge - height + (slopes - slope) * at for at in x for edge in (lowest, highest)])
    return float(np.abs(apart).max())


def fits_one_clock(forward: Hull, backward: Hull, steepest: float, spare: float) -> bool:
    """Whether a line lies under the forward points and over the backward ones (turned round), to within `spare`."""
    bends = np.clip(np.concatenate([[0.0], forward.slopes(), -backward.slopes()]), -steepest, steepest)
    return bool(_room(forward, backward, np.unique(bends)).max() >= -spare)


def _room(forward: Hull, backward: Hull, slopes: Floats) -> Floats:
    """How far apart, for each slope, the highest line under the one and the lowest over the other are."""
    return np.array([forward.lowest(slope) + backward.lowest(-slope) for slope in slopes])


def floor_slope(found: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """The same from what `floor_slopes` found: the mean, weighted by how sure each is. None if there are none."""
    if not found:
        return None
    weights = np.array([1 / error**2 for _, error in found])
    slopes = np.array([slope for slope, _ in found])
    return float((slopes * weights).sum() / weights.sum()), float(1 / np.sqrt(weights.sum()))


def disagreement(found: Sequence[tuple[float, float]], slope: float) -> float:
    """How far a cloud's own slope may be from the common one, where that is more than its error.

    A clock that runs fast makes delays grow one way and shrink the other (Paxson 1998, section 5): what grows one way
    alone is a queue, and the floor of the other way shows that.
    """
    far = [abs(own - slope) + error for own, error in found if abs(own - slope) > error]
    return max(far, default=0.0)


def floor_slopes(clouds: Sequence[tuple[float, Floats, Floats]]) -> list[tuple[float, float]]:
    """Of each cloud with enough points the slope, as the clock's, of the smallest delays of many stretches of time, and
    its error.

    It is the median of all slopes between two of them. Where the floor is reached again and again, as it is where
    acknowledgements meet no queue, these agree to microseconds, and one packet that was quicker than the rest does not
    count.
    """
    fits = [(sign, _median_slope(*_floor(x, y))) for sign, x, y in clouds]
    return [(sign * fit[0], fit[1]) for sign, fit in fits if fit is not None]


def _floor(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The lowest point of each stretch of the same number of points."""
    count = min(len(x) // _POINTS_OF_A_STRETCH, _MOST_STRETCHES)
    if count < _FEWEST_STRETCHES:
        return np.empty(0), np.empty(0)
    order = np.argsort(x, kind="stable")
    stretch = np.empty(len(x), np.int64)
    stretch[order] = np.arange(len(x)) * count // len(x)
    by_height = np.lexsort((y, stretch))
    first = by_height[np.append(True, np.diff(stretch[by_height]) > 0)]
    return x[first], y[first]


def _median_slope(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Theil's slope, and about four times its standard error (from the residuals' median deviation)."""
    if len(x) < _FEWEST_STRETCHES:
        return None
    one, other = np.triu_indices(len(x), 1)
    slope = float(np.median((y[other] - y[one]) / (x[other] - x[one])))
    rest = y - slope * x
    deviation = 1.4826 * float(np.median(np.abs(rest - np.median(rest))))
    return slope, max(4 * deviation, 1e-7) / (float(x.std()) * float(np.sqrt(len(x))))


def _lowest_of_bins(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The lowest point of each bin, by rising x."""
    width = max(float(np.ptp(x)) / _BINS, 1e-12)
    bins = ((x - x.min()) / width).astype(np.int64)
    order = np.lexsort((y, bins))
    first = np.append(True, np.diff(bins[order]) > 0)
    chosen = order[first]
    chosen = chosen[np.argsort(x[chosen], kind="stable")]
    unique = np.append(True, np.diff(x[chosen]) > 0)
    return x[chosen][unique], y[chosen][unique]


def _without_dents(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Without most of the points that lie on or over the line between their neighbours: those are no corners."""
    while len(x) > _FEW_POINTS:
        before, after = x[1:-1] - x[:-2], x[2:] - x[:-2]
        corner = before * (y[2:] - y[:-2]) > (y[1:-1] - y[:-2]) * after
        if corner.mean() > _MOSTLY_CORNERS:
            break
        keep = np.concatenate([[True], corner, [True]])
        x, y = x[keep], y[keep]
    return x, y


def _turns_right(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    cross = (middle[0] - first[0]) * (last[1] - first[1]) - (middle[1] - first[1]) * (last[0] - first[0])
    return cross <= 0
