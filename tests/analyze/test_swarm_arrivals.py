"""New bytes by sequence numbers: each byte counts once, when it first arrives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.reports.swarm.arrivals import new_bytes


def one_by_one(packets: list[tuple[int, int]]) -> list[int]:
    """The same by a set of bytes."""
    seen: set[int] = set()
    found = []
    for start, length in packets:
        fresh = set(range(start, start + length)) - seen
        seen |= fresh
        found.append(len(fresh))
    return found


def counted(packets: list[tuple[int, int]]) -> list[int]:
    sequence = np.array([start for start, _ in packets], np.int64)
    length = np.array([length for _, length in packets], np.int64)
    return [int(size) for size in new_bytes(sequence, length)]


def test_a_hole_that_is_filled_counts_and_a_copy_does_not() -> None:
    assert counted([(0, 10), (20, 10), (0, 10), (10, 10), (15, 10), (30, 5)]) == [10, 10, 0, 10, 0, 5]


def test_nothing_is_nothing() -> None:
    assert counted([]) == []


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=40))
def test_it_is_what_a_set_of_bytes_says(packets: list[tuple[int, int]]) -> None:
    # What is before the first packet was sent before the capture began: the engine's numbers start there.
    packets = [(0, 1), *packets]
    assert counted(packets) == one_by_one(packets)
