"""Distances, circles and where they meet; the best line through landmarks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.reports.discovery.calibration import best_line
from vmtrace.analyze.reports.discovery.geography import (
    HALF_ROUND_KM,
    Circle,
    Position,
    distance_km,
    distances_km,
    farthest_km,
    least_rtt_s,
    meeting,
    outline,
    points_within,
)

POSITIONS = st.builds(Position, st.floats(-90, 90), st.floats(-180, 180))
LONDON, PARIS, NEW_YORK = Position(51.51, -0.13), Position(48.86, 2.35), Position(40.71, -74.01)


def circle(centre: Position, radius_km: float, vantage: str = "v") -> Circle:
    return Circle(vantage, centre, least_rtt_s(radius_km), radius_km)


@pytest.mark.parametrize(
    ("first", "second", "expected_km"),
    # Great circles by other means (GeographicLib on a sphere of the mean radius).
    [(LONDON, PARIS, 344), (LONDON, NEW_YORK, 5570), (Position(0, 0), Position(0, 180), 20015)],
)
def test_known_distances(first: Position, second: Position, expected_km: float) -> None:
    assert distance_km(first, second) == pytest.approx(expected_km, rel=0.003)


@given(POSITIONS, POSITIONS)
def test_a_distance_is_the_same_both_ways_and_no_more_than_half_round(first: Position, second: Position) -> None:
    there = distance_km(first, second)
    assert there == pytest.approx(distance_km(second, first), abs=1e-6)
    assert 0 <= there <= HALF_ROUND_KM + 1e-6
    many = distances_km(first, np.array([second.lat]), np.array([second.lon]))
    assert float(many[0]) == pytest.approx(there, abs=1e-6)


def test_light_in_fibre_makes_200_km_in_a_millisecond() -> None:
    assert farthest_km(0.002) == pytest.approx(199.86, abs=0.01)
    assert farthest_km(10.0) == HALF_ROUND_KM
    assert least_rtt_s(farthest_km(0.05)) == pytest.approx(0.05)


@given(POSITIONS, st.floats(1, 15_000))
def test_points_and_outline_of_a_circle_lie_where_they_should(centre: Position, radius_km: float) -> None:
    lats, lons = points_within(centre, radius_km, 200)
    assert float(distances_km(centre, lats, lons).max()) <= radius_km + 1e-3
    lats, lons = outline(centre, radius_km, 24)
    assert distances_km(centre, lats, lons) == pytest.approx(radius_km, rel=1e-4, abs=1e-2)


def test_two_circles_meet_between_their_centres() -> None:
    found = meeting([circle(LONDON, 250), circle(PARIS, 250)])
    assert found is not None
    assert distance_km(found.centre, LONDON) < 250
    assert distance_km(found.centre, PARIS) < 250
    assert found.radius_km < 250


def test_circles_that_are_apart_do_not_meet() -> None:
    assert meeting([circle(LONDON, 100), circle(PARIS, 100)]) is None
    assert meeting([circle(LONDON, 2000), circle(NEW_YORK, 2000)]) is None


@given(POSITIONS, st.lists(POSITIONS, min_size=1, max_size=4), st.floats(1.0, 2.0))
def test_circles_around_one_place_always_meet(place: Position, vantages: list[Position], detour: float) -> None:
    # Whatever the detour: each circle holds the place, so they have it in common.
    circles = [circle(one, max(1.0, detour * distance_km(one, place))) for one in vantages]
    assert meeting(circles) is not None


def test_a_place_is_excluded_beyond_the_circle_and_its_slack() -> None:
    small = circle(LONDON, 300)
    assert small.excludes(PARIS)
    assert not small.excludes(PARIS, slack_km=50)


@given(st.lists(st.tuples(st.floats(1, 15_000), st.floats(1.0, 3.0), st.floats(0, 0.02)), min_size=4, max_size=12))
def test_the_best_line_is_below_all_landmarks_and_no_flatter_than_light(
    landmarks: list[tuple[float, float, float]],
) -> None:
    points = [(km, least_rtt_s(km) * stretch + more_s) for km, stretch, more_s in landmarks]
    line = best_line(points)
    assert line is not None
    assert line.s_per_km >= least_rtt_s(1.0) - 1e-15
    assert line.offset_s >= 0
    for km, rtt_s in points:
        assert line.s_per_km * km + line.offset_s <= rtt_s + 1e-8
        assert line.farthest_km(rtt_s) >= min(km, HALF_ROUND_KM) - 1e-3


def test_the_best_line_of_equal_detours_is_that_detour() -> None:
    line = best_line([(km, 1.5 * least_rtt_s(km)) for km in (500, 1000, 4000, 9000)])
    assert line is not None
    assert line.s_per_km == pytest.approx(1.5 * least_rtt_s(1.0))
    assert line.offset_s == pytest.approx(0, abs=1e-9)


def test_few_landmarks_and_impossible_ones_calibrate_nothing() -> None:
    assert best_line([(500, 0.01)] * 3) is None
    # Answered sooner than light allows: their place is wrong.
    assert best_line([(km, least_rtt_s(km) / 2) for km in (500, 1000, 4000, 9000)]) is None
    assert math.isfinite(HALF_ROUND_KM)
