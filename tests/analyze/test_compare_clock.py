"""Offset, skew and steps of one clock against the other, put into delays that are known."""

import numpy as np
import pytest

from vmtrace.analyze.compare.clock import Crossings, measure
from vmtrace.analyze.compare.clock_steps import find_cuts
from vmtrace.analyze.compare.hull import _lowest_of_bins, _without_dents, lower_hull

NS = 1e9


def crossings(
    duration_s: float, ahead_s: object = 0.0, *, forward_s: float = 0.02, backward_s: float = 0.02, count: int = 4000
) -> Crossings:
    """Packets both ways with 20 us of jitter and now and then a queue; `ahead_s` may be an array over time."""
    random = np.random.default_rng(7)
    forward = np.arange(count) % 3 != 0
    at_s = np.sort(random.uniform(0, duration_s, count))
    queue_s = np.where(forward, np.abs(np.sin(at_s)) * 0.01 * (random.random(count) < 0.9), 0.0)
    delay_s = np.where(forward, forward_s, backward_s) + random.exponential(20e-6, count) + queue_s
    # At the sender a forward packet is seen when it is sent, a backward one when it has come.
    here_s, there_s = np.where(forward, at_s, at_s + delay_s), np.where(forward, at_s + delay_s, at_s)
    there_s = there_s + (ahead_s(there_s) if callable(ahead_s) else ahead_s)
    order = np.argsort(here_s)
    there = np.empty(count, np.int64)
    there[np.argsort(there_s if not callable(ahead_s) else np.where(forward, at_s + delay_s, at_s))] = np.arange(count)
    start_ns = 1_700_000_000 * NS
    return Crossings(
        np.arange(count),
        there[order],
        (start_ns + here_s[order] * NS).astype(np.int64),
        (start_ns + there_s[order] * NS).astype(np.int64),
        forward[order],
    )


@pytest.mark.parametrize("offset_s", [0.0, 3600.0, -0.25])
@pytest.mark.parametrize("delays_s", [(0.02, 0.02), (0.03, 0.001), (0.0001, 0.05)])
def test_the_offset_is_within_its_error_however_the_path_shares_its_delay(
    offset_s: float, delays_s: tuple[float, float]
) -> None:
    clock = measure(crossings(5.0, offset_s, forward_s=delays_s[0], backward_s=delays_s[1]))
    assert clock.offset_s is not None
    assert clock.offset_error_s is not None
    assert abs(clock.offset_s - offset_s) <= clock.offset_error_s
    assert clock.offset_error_s == pytest.approx(sum(delays_s) / 2, abs=1e-4)


@pytest.mark.parametrize("skew_ppm", [0.0, 50.0, -100.0, 3.3])
@pytest.mark.parametrize("duration_s", [10.0, 60.0])
def test_skew_is_within_one_ppm_from_ten_seconds_on(skew_ppm: float, duration_s: float) -> None:
    clock = measure(crossings(duration_s, lambda at_s: 2.0 + at_s * skew_ppm * 1e-6))
    assert clock.skew_ppm == pytest.approx(skew_ppm, abs=1.0)
    assert clock.skew_error_ppm is not None
    assert clock.skew_ppm == pytest.approx(skew_ppm, abs=clock.skew_error_ppm)
    assert clock.steps == ()


@pytest.mark.parametrize("skew_ppm", [0.0, 50.0, -100.0])
@pytest.mark.parametrize("duration_s", [2.0, 100.0, 600.0, 3600.0])
def test_where_few_packets_tell_no_skew_the_offset_is_known_only_as_far_as_clocks_can_have_drifted(
    skew_ppm: float, duration_s: float
) -> None:
    def ahead_s(at_s: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> object:
        return 5.0 + at_s * skew_ppm * 1e-6

    moved = crossings(duration_s, ahead_s, count=30)
    clock = measure(moved)
    assert clock.skew_ppm is None
    assert clock.offset_s is not None
    assert clock.offset_error_s is not None
    assert clock.why_not is not None
    assert "too few packets" in clock.why_not
    for at_s in (0.0, duration_s):
        assert abs(clock.offset_s - ahead_s(np.array(at_s))) <= clock.offset_error_s + 1e-6  # type: ignore[operator]
    # Delays of 20 ms each way leave no more room than themselves, beside the drift over the whole time.
    drift_s = min(duration_s * 500e-6, duration_s * abs(skew_ppm) * 1e-6 + 0.1)
    assert clock.offset_error_s <= 0.03 + drift_s


@pytest.mark.parametrize("duration_s", [5.0, 60.0, 600.0])
def test_the_error_of_the_offset_holds_all_the_time_through_although_the_skew_is_not_quite_the_true_one(
    duration_s: float,
) -> None:
    apart = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        at_s = np.sort(random.uniform(0, duration_s, 80))
        forward = np.arange(80) % 2 == 0
        delay_s = 20e-6 + random.exponential(300e-6, 80)
        here_s, there_s = np.where(forward, at_s, at_s + delay_s), np.where(forward, at_s + delay_s, at_s)
        numbers = np.arange(80)
        clock = measure(
            Crossings(
                numbers,
                numbers,
                (here_s * NS).astype(np.int64),
                ((there_s * (1 + 50e-6)) * NS).astype(np.int64),
                forward,
            )
        )
        assert clock.skew_ppm is not None
        assert clock.offset_s is not None
        assert clock.offset_error_s is not None
        for moment_s in (clock.reference_ns / NS, duration_s):
            told_s = clock.offset_s + clock.skew_ppm * 1e-6 * (moment_s - clock.reference_ns / NS)
            apart.append(abs(told_s - moment_s * 50e-6) / clock.offset_error_s)
    assert max(apart) <= 1, "how far off at most, in units of what is told"


def test_a_queue_that_drains_while_the_other_fills_is_no_step() -> None:
    number = np.arange(400)
    forward = number % 2 == 0
    queued = np.where(forward, (number >= 100) & (number < 184), (number >= 184) & (number < 268))
    delay_ns = 10_000_000 + 2_000_000 * queued
    here_ns = number * 1_000_000
    there_ns = here_ns + np.where(forward, delay_ns, -delay_ns)
    there = np.argsort(np.argsort(there_ns, kind="stable"))
    moved = Crossings(number, there, here_ns, there_ns, forward)
    delay_s = delay_ns / NS
    assert len(find_cuts(moved.sender_packet, moved.receiver_packet, delay_s, forward)) > 0, (
        "for moments it looks like one"
    )
    clock = measure(moved)
    assert clock.steps == ()
    assert clock.offset_s == 0.0
    assert clock.offset_error_s == pytest.approx(0.01)


def test_a_short_transfer_has_an_offset_and_no_skew() -> None:
    clock = measure(crossings(0.5, 1.0))
    assert clock.offset_s == pytest.approx(1.0, abs=1e-4)
    assert (clock.skew_ppm, clock.skew_error_ppm) == (None, None)
    assert clock.why_not == "skew: too short (0.519 s, 1334 packets in one direction)"


@pytest.mark.parametrize("step_s", [0.5, -0.1, 0.005, -7200.0])
def test_a_step_of_the_receivers_clock_is_found_and_taken_out(step_s: float) -> None:
    made = crossings(20.0, lambda at_s: 1.0 + np.where(at_s >= 8.0, step_s, 0.0) + at_s * 20e-6)
    clock = measure(made)
    assert [step.step_s for step in clock.steps] == [pytest.approx(step_s, abs=1e-4)]
    # Where queues are longer than the step, packets under way do not tell whose clock it was.
    assert clock.steps[0].clock in (("receiver",) if abs(step_s) > 0.02 else ("receiver", "unknown"))
    assert (clock.steps[0].at_ns - clock.reference_ns) / NS == pytest.approx(8.0, abs=0.2)
    assert clock.skew_ppm == pytest.approx(20.0, abs=1.0)
    assert clock.ahead_s(made)[[0, -1]] == pytest.approx([1.0, 1.0 + step_s + 400e-6], abs=2e-4)


def test_several_steps_are_found_and_queues_are_none() -> None:
    clock = measure(crossings(30.0, lambda at_s: np.where(at_s >= 10, 0.2, 0.0) + np.where(at_s >= 20, -0.3, 0.0)))
    assert [round(step.step_s, 3) for step in clock.steps] == [0.2, -0.3]
    assert measure(crossings(30.0)).steps == ()


def test_one_direction_alone_has_no_clock() -> None:
    made = crossings(5.0)
    alone = Crossings(*(getattr(made, name)[made.forward] for name in Crossings.__slots__))
    clock = measure(alone)
    assert (clock.offset_s, clock.skew_ppm) == (None, None)
    assert clock.why_not == "packets of one direction only: they do not separate delay from offset"
    nothing = Crossings(*(getattr(made, name)[:0] for name in Crossings.__slots__))
    assert measure(nothing).why_not == "no packet was captured at both ends"


def test_no_point_lies_below_the_hull() -> None:
    random = np.random.default_rng(3)
    x, y = np.sort(random.random(500)), random.random(500)
    hull = lower_hull(x, y)
    assert (y >= np.interp(x, hull.x, hull.y) - 1e-12).all()
    assert (np.diff(hull.slopes()) > 0).all()
    assert hull.lowest(0.0) == y.min()


@pytest.mark.parametrize("seed", range(6))
def test_corners_are_those_of_all_points(seed: int) -> None:
    random = np.random.default_rng(seed)
    x, y = np.sort(random.uniform(0, 30, 5000)), random.exponential(1e-3, 5000)
    found = _lowest_of_bins(x, np.round(y, 6) if seed % 2 else y)
    fewer = _without_dents(*found)
    assert len(fewer[0]) < len(found[0]) / 10
    hull = lower_hull(*found)
    assert set(zip(hull.x, hull.y, strict=True)) <= set(zip(*fewer, strict=True))
    assert (found[1] >= np.interp(found[0], hull.x, hull.y) - 1e-12).all()


@pytest.mark.parametrize("grows", ["forward", "backward"])
def test_a_queue_that_only_grows_is_within_the_error_of_the_skew(grows: str) -> None:
    # 1 ms in each second, one way; the other way meets up to 4 ms of a queue that comes and goes.
    random = np.random.default_rng(3)
    number = np.arange(4000)
    forward = number % 2 == 0
    sent_s = number * 0.005
    steady_s, other_s = 0.01 + 0.001 * sent_s, 0.01 + 0.004 * random.random(len(number))
    delay_s = np.where(forward == (grows == "forward"), steady_s, other_s)
    here_s, there_s = np.where(forward, sent_s, sent_s + delay_s), np.where(forward, sent_s + delay_s, sent_s)
    order = np.argsort(here_s)
    there = np.argsort(np.argsort(there_s))
    here_ns, there_ns = ((at_s[order] * NS).astype(np.int64) for at_s in (here_s, there_s))
    clock = measure(Crossings(np.arange(len(number)), there[order], here_ns, there_ns, forward[order]))
    assert clock.skew_ppm is not None
    assert clock.skew_error_ppm is not None
    assert abs(clock.skew_ppm) <= clock.skew_error_ppm
