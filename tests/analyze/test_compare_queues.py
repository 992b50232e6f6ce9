"""Clocks on paths whose queues rise, stand and drain: no step where none was, and each that was."""

import numpy as np
import pytest

from tests.analyze.queued_paths import Step, crossings, drawn
from vmtrace.analyze.compare.clock import Clock, Crossings, measure
from vmtrace.analyze.compare.delays import true_delays
from vmtrace.analyze.compare.host_ticks import ticks

CLOSE_S = 0.001
NS = 1e9


def check_level(clock: Clock, moved: Crossings, delay_s: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    """The offset, and both directions' delays."""
    assert clock.offset_s is not None
    assert clock.offset_error_s is not None
    assert abs(clock.offset_s) <= min(CLOSE_S, clock.offset_error_s)
    told_s = true_delays(moved, clock.ahead_s(moved))
    for way in (moved.forward, ~moved.forward):
        assert np.median(told_s[way]) == pytest.approx(np.median(delay_s[way]), abs=CLOSE_S)


@pytest.mark.parametrize("seed", range(20))
def test_queues_are_no_steps(seed: int) -> None:
    moved, delay_s, hosts = crossings(*drawn(seed), seed)
    for known in (hosts, ((), ())):
        clock = measure(moved, known)
        assert clock.steps == (), "with and without timestamps"
        check_level(clock, moved, delay_s)


@pytest.mark.parametrize("seed", range(100, 120))
def test_a_step_amid_queues_is_found(seed: int) -> None:
    there, back, duration_s = drawn(seed)
    random = np.random.default_rng(seed)
    whose = str(random.choice(["sender", "receiver"]))
    by_s = float(random.choice([-1, 1]) * random.choice([0.005, 0.012, 0.08, 1.5]))
    step = Step(whose, duration_s * float(random.uniform(0.2, 0.8)), by_s)
    moved, delay_s, hosts = crossings(there, back, duration_s, seed, (step,))
    clock = measure(moved, hosts)
    ahead_s = by_s if whose == "receiver" else -by_s
    (found,) = clock.steps
    assert found.clock == whose
    assert found.step_s == pytest.approx(ahead_s, abs=CLOSE_S)
    check_level(clock, moved, delay_s)


def test_where_a_queue_never_empties_the_error_says_how_far_the_offset_may_be() -> None:
    there, back, duration_s = drawn(0)
    moved, delay_s, hosts = crossings(there, back, duration_s, 0)
    late = np.flatnonzero(moved.sender_ns - moved.sender_ns[0] > 0.3 * duration_s * NS)
    part = Crossings(*(getattr(moved, name)[late] for name in Crossings.__slots__))
    clock = measure(part, hosts)
    stands_s = float(delay_s[late][part.forward].min() - there.delay_s)
    assert stands_s > 0.1
    assert clock.steps == ()
    assert clock.offset_s is not None
    assert clock.offset_error_s is not None
    assert abs(clock.offset_s) <= clock.offset_error_s
    assert clock.offset_error_s >= stands_s / 2


def test_a_queue_in_the_host_that_moves_its_timestamps_is_no_step() -> None:
    # Packets of both ways, 2 ms apart; each host's own have waited in it since the 500th for 30 ms.
    number = np.arange(2000)
    forward = number % 2 == 0
    here_s = number * 0.001 + np.where(forward, 0.0, 0.02)
    there_s = number * 0.001 + np.where(forward, 0.02, 0.0)
    order = np.argsort(here_s, kind="stable")
    rank = np.argsort(np.argsort(there_s, kind="stable"))
    moved = Crossings(
        number,
        rank[order],
        (here_s[order] * NS).astype(np.int64),
        (there_s[order] * NS).astype(np.int64),
        forward[order],
    )
    own = moved.forward
    made_s = moved.sender_ns[own] / NS - np.where(np.arange(own.sum()) > 500, 0.03, 0.0)
    host = ticks(moved.sender_packet[own], moved.sender_ns[own], (made_s * 1000).astype(np.int64) + 9, own[own] * 1)
    assert host[0].jump(int(moved.sender_packet[own][501]))[0] == pytest.approx(0.03, abs=CLOSE_S), "it looks like one"
    assert measure(moved, (host, ())).steps == ()


def test_an_offset_that_no_one_clock_can_have_is_null_with_the_reason() -> None:
    # A packet each 0.5 s, too few near the step to say when it was, and 5 ms each way, less than half of it.
    number = np.arange(60)
    forward = number % 2 == 0
    here_s = number * 0.5 + np.where(forward, 0.0, 0.005)
    there_s = number * 0.5 + np.where(forward, 0.005, 0.0)
    stepped_s = there_s + np.where(there_s > 25.0, 0.2, 0.0)
    clock = measure(
        Crossings(number, number, (here_s * NS).astype(np.int64), (stepped_s * NS).astype(np.int64), forward)
    )
    assert (clock.offset_s, clock.offset_error_s, clock.steps) == (None, None, ())
    assert clock.why_not is not None
    assert "a clock was set" in clock.why_not
    assert measure(
        Crossings(number, number, (here_s * NS).astype(np.int64), (there_s * NS).astype(np.int64), forward)
    ).offset_s == pytest.approx(0.0, abs=1e-6)
