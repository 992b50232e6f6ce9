"""Order of delivery: reordering as RFC 4737 has it, displacement, Kendall's tau, and FIFO groups."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyze.queues_made import Made, stage
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.ordering import displacements, fifo_violations, inversions, order_rows, out_of_order


def ints(*values: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    return np.array(values, np.int64)


@given(st.integers(0, 60).flatmap(lambda n: st.permutations(range(n))))
def test_inversions_are_the_pairs_in_the_wrong_order(order: list[int]) -> None:
    n = len(order)
    brute = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
    assert inversions(ints(*order)) == brute


@given(st.lists(st.integers(0, 1000), unique=True, max_size=50))
def test_displacements_are_zero_for_the_same_order_alone(numbers: list[int]) -> None:
    assert (displacements(ints(*numbers)) == 0).all() == (numbers == sorted(numbers))


def test_a_message_is_out_of_order_after_one_that_was_sent_when_its_call_was_over() -> None:
    # The third came after the second, whose call began when its own had ended; the fourth overlaps the second.
    starts, ends = ints(0, 30, 10, 25), ints(5, 40, 20, 35)
    assert out_of_order(starts, ends).tolist() == [False, False, True, False]


def test_the_order_of_2007_is_given_back(tmp_path: Path) -> None:
    # The beginning of the sequence that the study prints, of messages that were put one by one.
    came = [2, 15, 16, 7, 26, 25, 6, 24, 8, 18, 1, 14, 23, 10, 4, 13, 5]
    made = Made(tmp_path / "run", stage(kind="put", messages=27))
    for number in range(27):
        made.send([number], 10 * number, 10 * number + 5)
    for place, number in enumerate(came):
        made.receive([(number, 10 * number, None)], 1000 + place, 1000.5 + place)
    (row,) = order_rows(Messages(made.read()))
    highest, late = -1, 0
    for number in came:
        late += number < highest
        highest = max(highest, number)
    ranks = [sorted(came).index(number) for number in came]
    swapped = sum(ranks[i] > ranks[j] for i in range(17) for j in range(i + 1, 17))
    assert (row.n, row.out_of_order, row.out_of_order_share) == (17, late, late / 17)
    assert row.tau == pytest.approx(1 - 4 * swapped / (17 * 16))
    assert row.displacement_max == max(abs(rank - place) for place, rank in enumerate(ranks))
    assert row.fifo_violations is None


def test_a_duplicate_counts_where_it_came_first(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=3))
    for number in range(3):
        made.send([number], 10 * number, 10 * number + 5)
    made.receive([(0, 0, None), (1, 10, None), (0, 0, None), (2, 20, None)], 100, 110)
    (row,) = order_rows(Messages(made.read()))
    assert (row.n, row.out_of_order, row.tau) == (3, 0, 1.0)


def test_groups_of_a_fifo_queue_are_ordered_on_their_own(tmp_path: Path) -> None:
    assert fifo_violations(ints(1, 0, 3, 2), ints(1, 0, 1, 0)) == 0
    assert fifo_violations(ints(0, 3, 2, 1), ints(0, 1, 0, 1)) == 1
    made = Made(tmp_path / "run", stage(messages=4, senders=2), fifo=True)
    for number in range(4):
        made.send([number], 10 * number, 10 * number + 5, place=number % 2)
    made.receive([(number, 10 * number, None) for number in (1, 2, 0, 3)], 100, 110)
    (row,) = order_rows(Messages(made.read()))
    assert row.fifo_violations == 1
    assert row.batched


def test_stages_are_ordered_on_their_own_and_summed(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(kind="put", messages=2), stage(kind="put", messages=2, name="b"))
    for number in range(4):
        made.send([number], 10 * number, 10 * number + 5, stage=1 + number // 2)
    made.receive([(number, 0, None) for number in (3, 2, 0, 1)], 100, 110)
    rows = list(order_rows(Messages(made.read())))
    assert [(row.stage, row.out_of_order, row.tau) for row in rows] == [(None, 1, 0.0), (1, 0, 1.0), (2, 1, -1.0)]


def test_no_message_has_no_order(tmp_path: Path) -> None:
    (row,) = order_rows(Messages(Made(tmp_path / "run", stage(messages=3)).read()))
    assert (row.n, row.out_of_order_share, row.tau, row.displacement_p99) == (0, None, None, None)
