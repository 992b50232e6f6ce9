"""Distances on the globe, and what a round trip says of them. Nothing here knows of packets or names."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.front_ends import FIBRE_KM_PER_S
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.tables.schema.typed import bounds

EARTH_RADIUS_KM = 6371.0088
HALF_ROUND_KM = math.pi * EARTH_RADIUS_KM
"""Nothing on the globe is farther away."""


@dataclass(frozen=True, slots=True)
class Position:
    """In degrees, north and east positive."""

    lat: Annotated[float, bounds(minimum=-90, maximum=90)]
    lon: Annotated[float, bounds(minimum=-180, maximum=180)]


@dataclass(frozen=True, slots=True)
class Circle:
    """What one vantage point says: the address is not farther from it than this."""

    vantage: str
    centre: Position
    rtt_s: float
    farthest_km: float
    """At the speed of light in fibre: what is outside is impossible."""
    calibrated_km: float | None = None
    """By the round trips of this vantage point to landmarks: what is outside is unlikely."""

    def excludes(self, place: Position, slack_km: float = 0.0) -> bool:
        """Whether an address at this place, give or take the slack, would have needed more time."""
        return distance_km(self.centre, place) - slack_km > self.farthest_km


def distance_km(first: Position, second: Position) -> float:
    """Along the great circle (haversine)."""
    lat, other_lat = math.radians(first.lat), math.radians(second.lat)
    half = math.sin((other_lat - lat) / 2) ** 2
    half += math.cos(lat) * math.cos(other_lat) * math.sin(math.radians(second.lon - first.lon) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))


def distances_km(centre: Position, lats: Floats, lons: Floats) -> Floats:
    """The same from one place to many."""
    lat, others = math.radians(centre.lat), np.radians(lats)
    half = np.sin((others - lat) / 2) ** 2
    half = half + math.cos(lat) * np.cos(others) * np.sin(np.radians(lons - centre.lon) / 2) ** 2
    found: Floats = 2 * EARTH_RADIUS_KM * np.arcsin(np.minimum(1.0, np.sqrt(half)))
    return found


def farthest_km(rtt_s: float) -> float:
    """How far a round trip can have led: there and back, in fibre."""
    return min(HALF_ROUND_KM, rtt_s / 2 * FIBRE_KM_PER_S)


def least_rtt_s(distance: float) -> float:
    """The shortest round trip over a distance in km."""
    return 2 * distance / FIBRE_KM_PER_S


def points_within(centre: Position, radius_km: float, count: int = 2000) -> tuple[Floats, Floats]:
    """Latitudes and longitudes of points spread evenly over a circle on the globe (a sunflower's spiral)."""
    number: Floats = np.arange(count, dtype=np.float64) + 0.5
    # Equal areas of a spherical cap: the cosine of the angle falls linearly.
    angle: Floats = np.arccos(1 - number / count * (1 - math.cos(min(radius_km / EARTH_RADIUS_KM, math.pi))))
    bearing: Floats = number * math.pi * (1 + math.sqrt(5))
    return _destinations(centre, angle, bearing)


def outline(centre: Position, radius_km: float, count: int = 120) -> tuple[Floats, Floats]:
    """Latitudes and longitudes of the circle itself."""
    angle: Floats = np.full(count + 1, min(radius_km / EARTH_RADIUS_KM, math.pi), np.float64)
    bearing: Floats = np.arange(count + 1, dtype=np.float64) * (2 * math.pi / count)
    return _destinations(centre, angle, bearing)


def _destinations(centre: Position, angle: Floats, bearing: Floats) -> tuple[Floats, Floats]:
    lat, lon = math.radians(centre.lat), math.radians(centre.lon)
    lats = np.arcsin(np.clip(math.sin(lat) * np.cos(angle) + math.cos(lat) * np.sin(angle) * np.cos(bearing), -1, 1))
    east = np.sin(bearing) * np.sin(angle) * math.cos(lat)
    lons = lon + np.arctan2(east, np.cos(angle) - math.sin(lat) * np.sin(lats))
    return np.degrees(lats), (np.degrees(lons) + 180) % 360 - 180


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where all circles overlap: the middle of it, and how far it reaches from there."""

    centre: Position
    radius_km: float


def meeting(circles: "list[Circle] | tuple[Circle, ...]") -> Meeting | None:
    """The overlap of circles; None where they do not meet. There must be one circle."""
    smallest = min(circles, key=lambda one: one.farthest_km)
    lats, lons = points_within(smallest.centre, smallest.farthest_km)
    inside = np.ones(len(lats), bool)
    for one in circles:
        inside &= distances_km(one.centre, lats, lons) <= one.farthest_km
    if not inside.any():
        # A sliver may pass between the points: it counts as an overlap where no two circles are apart.
        return None if _two_apart(circles) else Meeting(smallest.centre, smallest.farthest_km)
    middle = _middle(lats[inside], lons[inside])
    return Meeting(middle, float(distances_km(middle, lats[inside], lons[inside]).max()))


def _two_apart(circles: "list[Circle] | tuple[Circle, ...]") -> bool:
    return any(
        distance_km(one.centre, other.centre) > one.farthest_km + other.farthest_km
        for place, one in enumerate(circles)
        for other in circles[place + 1 :]
    )


def _middle(lats: Floats, lons: Floats) -> Position:
    """The mean of directions from the centre of the globe."""
    lat, lon = np.radians(lats), np.radians(lons)
    x, y, z = (np.cos(lat) * np.cos(lon)).mean(), (np.cos(lat) * np.sin(lon)).mean(), np.sin(lat).mean()
    return Position(math.degrees(math.atan2(z, math.hypot(x, y))), math.degrees(math.atan2(y, x)))
