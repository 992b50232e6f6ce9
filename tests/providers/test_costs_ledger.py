"""What objects occupy over time: by hand, and by a second way that looks at each object alone."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[2]))

from tests.providers.accesses import Access, chunk_of
from vmtrace.providers.costs import ledger
from vmtrace.providers.costs.ledger import Ledger, Occupied

INFINITE = float("inf")


def occupied(
    accesses: Sequence[Access], after_s: float = INFINITE, least_s: float = 0.0, cut: int | None = None
) -> Occupied:
    books = Ledger(after_s, least_s)
    for part in (accesses[:cut], accesses[cut:]) if cut is not None else (accesses,):
        books.feed(chunk_of(part), 3 + max(one[1] for one in accesses))
    return books.finish()


def test_an_object_is_stored_from_its_writing_to_its_deletion() -> None:
    found = occupied(
        [(0, 0, 10, "write", True), (5, 1, 4, "write", True), (8, 0, 0, "delete", True), (10, 1, 4, "read", True)]
    )
    assert found[ledger.STORED_S] == 10 * 8 + 4 * 5
    assert (found[ledger.DELETED], found[ledger.DELETED_AGE_S]) == (10, 80)
    assert (found.objects, found.duration_s) == (1, 10)


def test_what_is_read_before_it_is_written_was_there_from_the_beginning() -> None:
    found = occupied(
        [(0, 0, 10, "write", True), (6, 1, 4, "read", True), (9, 1, 7, "read", True), (10, 0, 10, "read", True)]
    )
    assert found[ledger.AT_BEGIN] == 7, "the larger read shows more of it"
    assert found[ledger.STORED_S] == 10 * 10 + 7 * 10


def test_an_object_is_cold_after_the_days_and_until_it_is_read() -> None:
    found = occupied(
        [(0, 0, 10, "write", True), (50, 0, 6, "read", True), (55, 0, 6, "read", True), (100, 1, 1, "read", True)], 20
    )
    assert found[ledger.COLD_S] == 10 * 30 + 10 * 25 + 1 * 80
    assert (found[ledger.RECALLED], found[ledger.RECALLS]) == (6 + 1, 2)
    assert found[ledger.MOVED] == 3


def test_what_is_deleted_or_replaced_young_is_charged_to_the_least_age() -> None:
    accesses: list[Access] = [(0, 0, 10, "write", True), (30, 0, 8, "write", True), (200, 0, 0, "delete", True)]
    assert occupied(accesses, least_s=90)[ledger.EARLY_S] == 10 * 60


def test_what_leaves_the_archive_young_is_charged_there_to_its_least_age() -> None:
    accesses: list[Access] = [(0, 0, 10, "write", True), (50, 0, 10, "read", True), (90, 0, 0, "delete", True)]
    books = Ledger(20, 0, 45)
    books.feed(chunk_of(accesses), 3)
    assert books.finish()[ledger.COLD_EARLY_S] == 10 * (45 - 30) + 10 * (45 - 20)


def test_what_is_read_after_its_deletion_is_stored_from_then_on() -> None:
    found = occupied(
        [(0, 0, 10, "write", True), (4, 0, 0, "delete", True), (6, 0, 10, "read", True), (10, 1, 0, "list", True)]
    )
    assert found[ledger.STORED_S] == 10 * 4 + 10 * 4
    assert found[ledger.AT_BEGIN] == 0


def test_bytes_and_requests_are_counted_by_operation_and_place() -> None:
    found = occupied(
        [(0, 0, 10, "write", False), (1, 0, 10, "read", True), (2, 0, 9, "read", False), (3, 0, 0, "list", True)]
    )
    assert [found[one] for one in (ledger.READ_OUT, ledger.READ_IN, ledger.WRITTEN_OUT, ledger.WRITTEN_IN)] == [
        10,
        9,
        0,
        10,
    ]
    assert [found[one] for one in (ledger.READS, ledger.READS_OUT, ledger.WRITES, ledger.LISTS)] == [2, 1, 1, 1]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.integers(0, 4),
        st.integers(0, 50),
        st.sampled_from(["read", "read", "write", "delete", "list"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.integers(0, 60))
def test_chunks_of_any_length_give_the_same_sums(steps: list[Access], cut: int) -> None:
    times, now = [], 0
    for step in steps:
        now += int(step[0])
        times.append((float(now), *step[1:]))
    assert occupied(times, 30, 10, cut) == occupied(times, 30, 10)
    sums = occupied(times, 30, 10)
    assert sums[ledger.COLD_S] <= sums[ledger.STORED_S] + 1e-6
    assert sums[ledger.READS] + sums[ledger.WRITES] + sums[ledger.LISTS] + sums[ledger.DELETES] == len(times)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_what_is_written_once_and_read_is_stored_as_each_object_alone(steps: list[Access]) -> None:
    """Without deletions, each object's bytes times its own life is the sum."""
    now, accesses, written = 0.0, [], set()
    for step in steps:
        now += step[0]
        operation = "read" if step[1] in written else "write"
        written.add(step[1])
        accesses.append((now, step[1], 7 + step[1], operation, True))
    begins = {one[1]: one[0] for one in reversed(accesses)}
    alone = sum((7 + which) * (accesses[-1][0] - begin) for which, begin in begins.items())
    assert occupied(accesses)[ledger.STORED_S] == pytest.approx(alone)
