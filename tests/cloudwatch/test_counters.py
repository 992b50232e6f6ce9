"""Cumulative counters are told from counts of a period, and their differences are what was counted."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.cloudwatch.counters import Sample, deltas, is_cumulative

NS = 10**9
COUNTS = st.lists(st.integers(0, 10**6), min_size=2, max_size=200)


def samples(values: list[float], period_s: int = 60) -> list[Sample]:
    return [Sample(place * period_s * NS, value) for place, value in enumerate(values)]


@given(st.integers(0, 10**9), COUNTS)
def test_what_only_rises_is_cumulative_and_its_deltas_are_what_was_added(first: int, counts: list[int]) -> None:
    values = [float(value) for value in accumulate(counts, initial=first)]
    found = is_cumulative(values)
    assert found is (True if sum(count > 0 for count in counts) >= 5 else None)
    assert is_cumulative(values, documented=True) is True
    assert list(deltas(samples(values), 60)) == [None, *map(float, counts)]


@given(COUNTS, st.integers(1, 199))
def test_a_reset_is_dropped_and_nothing_else(counts: list[int], place: int) -> None:
    place = min(place, len(counts) - 1)
    before = [float(value) for value in accumulate(counts[:place], initial=10**7)]
    values = before + [float(value) for value in accumulate(counts[place:])]
    found = list(deltas(samples(values), 60))
    assert found[len(before)] is None
    assert found[1 : len(before)] == list(map(float, counts[:place]))
    assert found[len(before) + 1 :] == list(map(float, counts[place + 1 :]))
    assert is_cumulative(values, documented=True) is True


@given(st.lists(st.integers(0, 100), min_size=1), st.lists(st.integers(101, 10**6), min_size=1))
def test_counts_that_fall_as_often_as_they_rise_are_no_counter(low: list[int], high: list[int]) -> None:
    pairs = list(zip(low, high, strict=False))
    values = [float(value) for pair in pairs * 3 for value in pair]
    assert is_cumulative(values) is False
    assert is_cumulative(values, documented=True) is False


def test_a_level_with_fractions_or_below_zero_is_no_counter() -> None:
    assert is_cumulative([0.5, 1, 2, 3, 4, 5, 6], documented=True) is False
    assert is_cumulative([-1, 1, 2, 3, 4, 5, 6], documented=True) is False


def test_what_never_changes_is_what_is_documented() -> None:
    assert is_cumulative([7.0] * 100) is None
    assert is_cumulative([7.0] * 100, documented=True) is True
    assert is_cumulative([]) is None


def test_a_difference_over_a_missing_period_belongs_to_no_period() -> None:
    found = deltas([Sample(0, 1), Sample(60 * NS, 3), Sample(180 * NS, 9), Sample(240 * NS, 10)], 60)
    assert list(found) == [None, 2, None, 1]
