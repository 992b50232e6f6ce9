"""The line to the receiver: patience that grows, sessions that are renewed, idle time that is kept alive."""

from __future__ import annotations

import dataclasses

import pytest

from tests.sender.fakes import FakeFarSide, FastInterruption
from vmtrace.sender.link import Link, Patience
from vmtrace.sender.wire.errors import ReceiverBusy, ReceiverGone
from vmtrace.sender.wire.records import RunRequest


def link_to(far_side: FakeFarSide) -> tuple[Link, FastInterruption]:
    interruption = FastInterruption()
    return Link(far_side, RunRequest, interruption), interruption


def test_waits_double_up_to_half_a_minute_and_end_with_the_patience() -> None:
    now_s = [100.0]
    patience = Patience(100.0, lambda: now_s[0])
    waits: list[float | None] = []
    for _ in range(9):
        wait_s = patience.next_wait_s()
        waits.append(wait_s)
        now_s[0] += wait_s or 0
    assert waits == [1, 2, 4, 8, 16, 30, 30, 9, None]


def test_what_works_again_begins_anew() -> None:
    now_s = [0.0]
    patience = Patience(10.0, lambda: now_s[0])
    assert [patience.next_wait_s(), patience.next_wait_s()] == [1, 2]
    now_s[0] = 1e6
    patience.succeeded()
    assert patience.next_wait_s() == 1


def test_it_connects_once_and_again_after_it_was_dropped() -> None:
    far_side = FakeFarSide()
    link, _ = link_to(far_side)
    first = link.control
    assert link.control is first
    link.drop()
    assert link.control is not first
    assert far_side.connected == 2
    assert first.closed  # type: ignore[attr-defined]


def test_a_receiver_that_does_not_open_the_run_leaves_no_connection() -> None:
    far_side = FakeFarSide()
    link, _ = link_to(far_side)
    far_side.refusals = [ReceiverBusy("there: busy")]
    with pytest.raises(ReceiverBusy):
        _ = link.control
    assert link.accepted is far_side.accepted


def test_numbers_of_transfers_are_never_used_again() -> None:
    link, _ = link_to(FakeFarSide())
    numbers = [link.next_number()]
    link.drop()
    assert [*numbers, link.next_number()] == [1, 2]


def test_long_idle_times_are_kept_alive() -> None:
    far_side = FakeFarSide()
    link, interruption = link_to(far_side)
    _ = link.control
    link.rest(40.0)
    assert interruption.slept == pytest.approx([15, 15, 10], abs=0.1)
    assert far_side.kept_alive == 3
    far_side.keep_alive_error = ReceiverGone("lost")
    link.rest(20.0)
    assert far_side.kept_alive == 4


def test_a_session_near_its_end_is_renewed() -> None:
    far_side = FakeFarSide()
    link, _ = link_to(far_side)
    limits = dataclasses.replace(far_side.accepted.limits, session_bytes=100)
    far_side.accepted = dataclasses.replace(far_side.accepted, limits=limits)
    first = link.control
    link.make_room_for(60)
    assert link.control is first
    link.make_room_for(60)
    assert link.control is not first
    far_side.accepted = dataclasses.replace(far_side.accepted, limits=dataclasses.replace(limits, session_s=0.0))
    link.drop()
    second = link.control
    link.make_room_for(1)
    assert link.control is not second


@pytest.mark.parametrize("connected", [True, False])
def test_the_transfer_that_begins_a_session_counts_in_it(connected: bool) -> None:
    """Else the receiver refuses a transfer of every session but the first: an attempt is lost, or a pair."""
    far_side = FakeFarSide()
    link, _ = link_to(far_side)
    limits = dataclasses.replace(far_side.accepted.limits, session_bytes=100)
    far_side.accepted = dataclasses.replace(far_side.accepted, limits=limits)
    if connected:
        _ = link.control
        link.make_room_for(90)
    link.make_room_for(60)
    second = link.control
    link.make_room_for(60)
    assert link.control is not second
