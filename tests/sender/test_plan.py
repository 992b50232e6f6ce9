"""Plans know their steps by number, their sums, and what is left."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.sender.plan import Entry, Plan, Step, TransferPlan
from vmtrace.sender.plans import LEE2011


def test_steps_go_through_entries_pairs_and_rounds(plan: Plan) -> None:
    twice = dataclasses.replace(plan, repeat=2)
    first, last = twice.entries
    assert [twice.step(number) for number in range(1, 8)] == [
        Step(1, 1, 1, first),
        Step(2, 1, 2, first),
        Step(3, 1, 1, last),
        Step(4, 2, 1, first),
        Step(5, 2, 2, first),
        Step(6, 2, 1, last),
        None,
    ]


def test_a_plan_limited_by_time_has_no_last_step(plan: Plan) -> None:
    endless = dataclasses.replace(plan, repeat=None, duration_s=60.0)
    step = endless.step(3_000_001)
    assert step is not None
    assert (step.repeat, step.pair) == (1_000_001, 1)
    assert (endless.pairs_planned, endless.shortest_s(1e6), endless.left(5)) == (None, None, (0, 0.0))


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_what_is_left_is_the_sum_of_the_steps_that_are_left(shape: list[tuple[int, int, int]], repeat: int) -> None:
    entries = tuple(
        Entry(f"I_{number}", pairs, TransferPlan(probe), TransferPlan(data), 0.5)
        for number, (pairs, probe, data) in enumerate(shape)
    )
    plan = Plan("any", entries, repeat=repeat)
    assert plan.pairs_planned is not None
    for finished in range(plan.pairs_planned + 1):
        steps = [plan.step(number) for number in range(finished + 1, plan.pairs_planned + 1)]
        left_bytes, left_s = plan.left(finished)
        assert left_bytes == sum(step.entry.moved_bytes for step in steps if step is not None)
        assert left_s == pytest.approx(0.5 * len(steps))


def test_scale_multiplies_sizes_and_idle_times_but_leaves_a_byte_for_each_stream(plan: Plan) -> None:
    tenth = plan.scaled(0.1)
    assert [(entry.probe.bytes, entry.data.bytes) for entry in tenth.entries] == [(1, 10), (2, 20)]
    assert tenth.entries[0].gap_s == pytest.approx(0.05)
    assert tenth.scale == 0.1
    tiny = TransferPlan(1000, streams=4).scaled(1e-9)
    assert tiny.bytes == 4
    assert LEE2011.scaled(1e-12).entries[0].probe.bytes == 1


def test_both_directions_move_twice_the_bytes() -> None:
    assert TransferPlan(10, "both").moved_bytes == 20


def test_the_shortest_time_is_that_of_the_bytes_and_the_idle_times_between(plan: Plan) -> None:
    # 10 + 100 twice, 20 + 200 once; two idle times, none of them behind the last pair.
    assert plan.shortest_s(8.0) == 440 + 1.0
