"""How long a vantage point's round trips are for their distance, by landmarks of known place.

The best line of Constraint-Based Geolocation (B. Gueye and others, IEEE/ACM Transactions on Networking 14 (2006),
section III): below all landmarks and as close to them as a line can be, no flatter than light in fibre allows. Turned
around it gives a distance that is likely not exceeded; unlike that of light it can be wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from vmtrace.analyze.reports.discovery.geography import HALF_ROUND_KM, least_rtt_s
from vmtrace.analyze.tables.schema.typed import Count, Positive, bounds

FEWEST_LANDMARKS = 4
_LEAST_S_PER_KM = least_rtt_s(1.0)


@dataclass(frozen=True, slots=True)
class BestLine:
    """Round trip in seconds = `s_per_km` x distance + `offset_s`."""

    s_per_km: Annotated[float, bounds(exclusiveMinimum=0)]
    offset_s: Positive
    landmarks: Count

    def farthest_km(self, rtt_s: float) -> float:
        """The distance that a round trip likely does not exceed."""
        return min(HALF_ROUND_KM, max(0.0, (rtt_s - self.offset_s) / self.s_per_km))


def best_line(points: Sequence[tuple[float, float]]) -> BestLine | None:
    """From distance in km and least round trip in seconds of each landmark; None with fewer than four."""
    usable = [(km, rtt_s) for km, rtt_s in points if rtt_s >= least_rtt_s(km)]
    if len(usable) < FEWEST_LANDMARKS:
        return None
    lines = [*_through_two(usable), *_steepest_allowed(usable)]
    fitting = [one for one in lines if all(_above(one, point) >= -1e-9 for point in usable)]
    if not fitting:
        return None
    slope, offset = min(fitting, key=lambda one: sum(_above(one, point) for point in usable))
    return BestLine(slope, offset, len(usable))


def _above(line: tuple[float, float], point: tuple[float, float]) -> float:
    return point[1] - (line[0] * point[0] + line[1])


def _through_two(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The least sum over a convex set of lines is at one through two points."""
    found = []
    for place, (km, rtt_s) in enumerate(points):
        for other_km, other_s in points[place + 1 :]:
            if other_km == km:
                continue
            slope = (other_s - rtt_s) / (other_km - km)
            if slope >= _LEAST_S_PER_KM and rtt_s - slope * km >= 0:
                found.append((slope, rtt_s - slope * km))
    return found


def _steepest_allowed(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The bounds: as flat as light in fibre, and through zero."""
    flat = min(rtt_s - _LEAST_S_PER_KM * km for km, rtt_s in points)
    through_zero = min((rtt_s / km for km, rtt_s in points if km > 0), default=_LEAST_S_PER_KM)
    return [(_LEAST_S_PER_KM, flat), (max(through_zero, _LEAST_S_PER_KM), 0.0)]
