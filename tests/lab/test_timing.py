"""The emulator's delay error over a run, and what is too much of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.lab.packets import fate
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.timing import DelayErrors, Standstill, Standstills, as_json, problems


def late(number: int, late_us: int, waited_us: int = 0) -> PacketFate:
    packet = fate(number, number)
    return replace(packet, time_out_ns=packet.time_due_ns + late_us * 1000, waited_ns=waited_us * 1000)


def test_percentiles_are_those_of_the_values_to_a_microsecond() -> None:
    errors = DelayErrors()
    for number in range(1000):
        errors.add(late(number, number))
    found = errors.summary()
    assert found is not None
    assert (found.samples, found.max_s) == (1000, 999e-6)
    assert found.mean_s == pytest.approx(499.5e-6)
    for value, expected_us in ((found.median_s, 500), (found.p95_s, 950), (found.p99_s, 990)):
        assert value == pytest.approx(expected_us * 1e-6, abs=1.01e-6)


def test_waiting_unread_counts_and_lost_packets_do_not() -> None:
    errors = DelayErrors()
    errors.add(late(1, 100, waited_us=200))
    errors.add(fate(2, 1, arrives_ms=None))
    found = errors.summary()
    assert found is not None
    assert (found.samples, found.max_s) == (1, 300e-6)


def test_an_error_beyond_the_fine_steps_is_still_seen() -> None:
    errors = DelayErrors()
    errors.add(late(1, 50_000))
    found = errors.summary()
    assert found is not None
    assert found.p99_s == found.max_s == 0.05


def test_no_packets_no_summary() -> None:
    assert DelayErrors().summary() is None
    assert as_json(None) is None
    assert problems(None, [], 1.0) == ["no packet passed the emulator"]


def test_standstills_join_what_packets_show_and_what_the_loop_noticed() -> None:
    standstills = Standstills([(1_000_000_000, 20_000_000)])
    for packet in (late(1, 6000), late(2, 5500), late(3, 100), late(500, 200, waited_us=7000)):
        standstills.add(packet)
    first, second, third = standstills.merged()
    assert first == Standstill(11_000_000, 17_500_000)
    assert second == Standstill(493_000_000, 500_000_000)
    assert third == Standstill(1_000_000_000, 1_020_000_000)


def test_overlapping_standstills_are_one() -> None:
    merged = Standstills([(0, 10), (5, 10), (30, 5)]).merged()
    assert merged == [Standstill(0, 15), Standstill(30, 35)]


def test_what_makes_a_run_bad() -> None:
    errors = DelayErrors()
    for number in range(100):
        errors.add(late(number, 1100))
    good = DelayErrors()
    good.add(late(1, 900))
    assert "1.100 ms at the 99th percentile, beyond 1 ms" in problems(errors.summary(), [], 1.0)[0]
    assert problems(good.summary(), [], 1.0) == []
    stood = [Standstill(0, 6_000_000)]
    assert problems(good.summary(), stood, 10.0) == []
    assert "paused for 6.0 ms" in problems(good.summary(), stood, 5.0)[0]
