"""Joining by arrays gives what loops over the same values give."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.compare.arrays import common, expanded, mixed, ranks, starts_of_runs

numbers = st.lists(st.integers(-3, 5), max_size=30).map(lambda values: np.array(values, np.int64))


@given(numbers, numbers)
def test_values_that_stand_once_in_each_are_joined(left: np.ndarray, right: np.ndarray) -> None:
    ours, theirs = common(left, right)
    once = [{v for v, n in Counter(side.tolist()).items() if n == 1} for side in (left, right)]
    assert sorted(left[ours].tolist()) == sorted(right[theirs].tolist()) == sorted(once[0] & once[1])
    assert (left[ours] == right[theirs]).all()


@given(numbers)
def test_ranks_count_the_equal_values_before(values: np.ndarray) -> None:
    listed = values.tolist()
    assert ranks(values).tolist() == [listed[:place].count(value) for place, value in enumerate(listed)]


@given(numbers)
def test_runs_start_where_their_value_begins(values: np.ndarray) -> None:
    starts = starts_of_runs(values)
    for place, start in enumerate(starts.tolist()):
        assert set(values[start : place + 1].tolist()) == {values[place]}
        assert start == 0 or values[start - 1] != values[place]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=10))
def test_ranges_are_written_out(pairs: list[tuple[int, int]]) -> None:
    first, counts = (np.array([pair[place] for pair in pairs], np.int64) for place in (0, 1))
    assert expanded(first, counts).tolist() == [number for a, n in pairs for number in range(a, a + n)]


def test_rows_are_alike_only_if_all_their_fields_are() -> None:
    rows = np.array([[1, 2], [2, 1], [1, 2], [0, 0], [-1, 2]])
    keys = mixed(rows[:, 0], rows[:, 1])
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 4
