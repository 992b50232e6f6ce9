"""Stalls of a guest that nobody ordered, from what waited at its door."""

from __future__ import annotations

from vmtrace.lab.accuracy.gap_truth import Event, Truth
from vmtrace.lab.accuracy.gap_unplanned import Passage, unplanned, waits

MS = 1_000_000


def passages(*times_ms: int) -> list[Passage]:
    return [Passage(number * 1448, 1448, time_ms * MS) for number, time_ms in enumerate(times_ms)]


def found(delivered: list[Passage], taken_in: list[Passage], planned: list[Event]) -> list[tuple[int, int]]:
    events = unplanned(waits(delivered, taken_in), planned, Truth.RECEIVER_HOST)
    return [(event.start_ns // MS, event.end_ns // MS) for event in events]


def test_packets_that_waited_together_show_one_stall() -> None:
    assert found(passages(0, 10, 12, 20, 40), passages(0, 31, 31, 32, 41), []) == [(10, 32)]


def test_a_wait_of_a_tick_is_none() -> None:
    assert found(passages(0, 10), passages(0, 21), []) == []


def test_a_planned_stall_is_not_found_again() -> None:
    assert found(passages(0, 110), passages(0, 301), [Event(100 * MS, 300 * MS, Truth.RECEIVER_HOST)]) == []


def test_one_right_before_a_planned_stall_is_one_of_its_own() -> None:
    planned = [Event(202 * MS, 300 * MS, Truth.RECEIVER_HOST)]
    assert found(passages(0, 10, 80, 210), passages(0, 200, 201, 305), planned) == [(10, 201)]


def test_what_the_device_dropped_has_no_partner() -> None:
    delivered, taken_in = passages(0, 10, 20, 30), passages(1, 11, 21, 55)
    assert waits(delivered, [taken_in[0], taken_in[3]]) == [(0, MS), (30 * MS, 55 * MS)]
