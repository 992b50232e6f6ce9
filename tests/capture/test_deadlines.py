"""Deadlines stay on their marks however late each was met; those that passed are counted and left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.capture.deadlines import Deadlines


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_the_first_is_at_once_and_the_others_are_on_the_marks() -> None:
    clock = Clock()
    deadlines = Deadlines(1.0, clock)
    assert deadlines.remaining_s() == 0
    clock.now_s += 0.3  # the work took a while
    deadlines.met()
    assert deadlines.remaining_s() == pytest.approx(0.7)
    clock.now_s += 0.9  # woken late
    assert deadlines.remaining_s() == 0
    deadlines.met()
    assert deadlines.remaining_s() == pytest.approx(0.8)
    assert deadlines.missed == 0


def test_after_a_freeze_the_missed_ones_are_not_caught_up() -> None:
    clock = Clock()
    deadlines = Deadlines(1.0, clock)
    deadlines.met()
    clock.now_s += 5.5
    assert deadlines.remaining_s() == 0
    deadlines.met()
    assert deadlines.missed == 4
    assert deadlines.remaining_s() == pytest.approx(0.5)


@given(st.lists(st.floats(0, 50), max_size=30))
def test_every_mark_is_met_or_missed(delays_s: list[float]) -> None:
    clock = Clock()
    deadlines = Deadlines(1.0, clock)
    met = 0
    for delay_s in delays_s:
        clock.now_s += delay_s + deadlines.remaining_s()
        deadlines.met()
        met += 1
        assert 0 <= deadlines.remaining_s() <= 1
    assert met + deadlines.missed == pytest.approx(clock.now_s + deadlines.remaining_s() - 100.0, abs=1e-6)
