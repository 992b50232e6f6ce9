"""Periods joined to stretches of time: overlaps, against the same counted nanosecond by nanosecond."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.read.side.overlap import Joined, join, overlaps


def joined(periods: list[tuple[int, int, float]], stretches: list[tuple[int, int]]) -> Joined:
    start, end, value = (np.array(part) for part in zip(*periods, strict=True)) if periods else ([], [], [])
    begin, until = (np.array(part, np.int64) for part in zip(*stretches, strict=True))
    found = overlaps(np.array(start, np.int64), np.array(end, np.int64), begin, until)
    return join(found, np.array(value, np.float64))


def test_a_mean_is_weighted_by_how_long_each_period_lasts_inside() -> None:
    found = joined([(0, 10, 1.0), (10, 20, 4.0)], [(5, 20)])
    assert found.value.tolist() == [pytest.approx((5 * 1.0 + 10 * 4.0) / 15)]
    assert found.coverage.tolist() == [1.0]
    assert found.weight.tolist() == [0.75], "15 of the 20 nanoseconds that the values are about"


def test_a_stretch_inside_a_long_period_is_covered_and_yet_hardly_weighs() -> None:
    found = joined([(0, 300, 7.0)], [(100, 103)])
    assert (found.value[0], found.coverage[0], found.weight[0]) == (7.0, 1.0, 0.01)


def test_a_period_ends_before_its_end_and_a_stretch_that_only_touches_has_nothing() -> None:
    found = joined([(0, 10, 7.0)], [(10, 20), (-5, 0)])
    assert np.isnan(found.value).all()
    assert found.coverage.tolist() == [0.0, 0.0]


def test_a_missing_period_lowers_the_coverage_and_is_no_zero() -> None:
    found = joined([(0, 10, 2.0), (10, 20, float("nan")), (20, 30, 2.0)], [(0, 30), (12, 18)])
    assert found.value[0] == 2.0
    assert found.coverage.tolist() == [pytest.approx(2 / 3), 0.0]
    assert np.isnan(found.value[1])
    assert np.isnan(found.weight[1])


def test_no_periods_are_no_values() -> None:
    found = joined([], [(0, 10)])
    assert np.isnan(found.value[0])
    assert found.coverage[0] == 0.0


@st.composite
def periods(draw: st.DrawFn) -> list[tuple[int, int, float]]:
    """Some periods in order, with and without gaps between them, some without a value."""
    edges = sorted(draw(st.sets(st.integers(0, 60), min_size=2, max_size=12)))
    values = st.one_of(st.integers(-5, 5).map(float), st.just(float("nan")))
    found = [(one, other, draw(values)) for one, other in pairwise(edges)]
    return [one for one in found if draw(st.booleans())]


@given(periods(), st.lists(st.tuples(st.integers(-10, 70), st.integers(0, 40)), min_size=1, max_size=5))
def test_joining_is_what_counting_every_nanosecond_gives(
    made: list[tuple[int, int, float]], wanted: list[tuple[int, int]]
) -> None:
    stretches = [(begin, begin + length) for begin, length in wanted]
    found = joined(made, stretches)
    for place, (begin, until) in enumerate(stretches):
        inside = [
            (value, end - start)
            for moment in range(begin, until)
            for start, end, value in made
            if start <= moment < end and not np.isnan(value)
        ]
        touched = [end - start for start, end, value in made if not np.isnan(value) and start < until and begin < end]
        if not inside:
            assert np.isnan(found.value[place])
            assert found.coverage[place] == 0.0
            continue
        assert found.value[place] == pytest.approx(np.mean([value for value, _ in inside]))
        assert found.coverage[place] == pytest.approx(len(inside) / (until - begin))
        assert found.weight[place] == pytest.approx(len(inside) / sum(touched))
        assert 0 < found.weight[place] <= 1
