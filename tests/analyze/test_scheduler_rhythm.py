"""Hosts that a scheduler stops, told by their rhythm: a quota at either host, and what only looks like one."""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.analyze.outcome_made import Ends, Wire
from vmtrace.analyze.trace import Trace

WAY_S, SPACING_S, WINDOW, SECONDS = 0.01, 0.0004, 60, 5.0
Awake = Callable[[float], float]
"""When a host does what comes at a time."""


def always(time_s: float) -> float:
    return time_s


def quota(share: float, period_s: float, dice: random.Random) -> Awake:
    """So much of each period, from its beginning on: where it stops then, and wakes a little late."""
    phase_s, late_s = dice.uniform(0, period_s), [dice.uniform(0, 0.003) for _ in range(2000)]

    def awake(time_s: float) -> float:
        number, within_s = divmod(time_s + phase_s, period_s)
        if within_s < share * period_s:
            return time_s
        return (number + 1) * period_s - phase_s + late_s[int(number) % 2000]

    return awake


@dataclass(frozen=True)
class Path:
    """How much longer the round trip is, how much later packets come by chance, and the window."""

    rtt_more_s: float = 0.0
    jitter_s: float = 0.0
    window: int = WINDOW // 2
    slow_start: bool = False


def bulk(sender: Awake, receiver: Awake, writes_s: float = 0.0, path: Path = Path()) -> Trace:
    """A transfer of the client, seen beside it: a window of segments, acknowledged two by two; one each `writes_s`."""
    wire, way_s, dice = Wire(Ends()), WAY_S + path.rtt_more_s / 2, random.Random(7)
    segment = wire.ends.full
    wire.tcp(0, True, "S").tcp(2 * way_s, False, "SA").tcp(2 * way_s + 1e-5, True, "A")
    events: list[tuple[float, str, int]] = [(2 * way_s + 0.001, "ack", 0)]
    sent = arrived = acked = shown = 0
    free_s, next_write_s = 0.0, 0.0
    while events:
        time_s, kind, number = heapq.heappop(events)
        if kind == "ack":
            heapq.heappush(events, (sender(time_s), "heard", number))
        elif kind == "heard":
            wire.tcp(time_s, False, "A", acked=number * segment, window=500) if number else None
            acked = max(acked, number)
            if writes_s and acked == sent:
                next_write_s = max(next_write_s + writes_s, time_s)
                heapq.heappush(events, (next_write_s, "write", 0))
            elif not writes_s:
                heapq.heappush(events, (time_s + 1e-5, "write", 0))
        elif kind == "write" and time_s < SECONDS:
            while sent < acked + (min(path.window, 10 + acked) if path.slow_start else path.window):
                wire.tcp(time_s, True, "A", start=sent * segment, acked=0, length=segment)
                sent, free_s = sent + 1, max(free_s, time_s + way_s) + SPACING_S
                heapq.heappush(events, (receiver(free_s + dice.uniform(0, path.jitter_s)), "data", sent))
                time_s += 1e-6
        elif kind == "data":
            arrived = max(arrived, number)
            if arrived - shown >= 2 or arrived == sent:
                shown = arrived
                heapq.heappush(events, (time_s + way_s, "ack", shown))
    return wire.trace()


def verdict_and_period(trace: Trace) -> tuple[str | None, Any]:
    connection: Any = trace.json()["connections"][0]
    verdict = connection["verdict"]
    return verdict and verdict["factor"], connection["client_to_server"]["spacing"].get("stall_period_s")


def drawn(seeds: range) -> Iterator[tuple[float, float, int]]:
    for seed in seeds:
        dice = random.Random(seed)
        yield dice.choice((0.1, 0.15, 0.2)), dice.choice((0.1, 0.1, 0.05, 0.15)), seed


@pytest.mark.parametrize(("share", "period_s", "seed"), list(drawn(range(4))))
def test_a_receiver_with_a_quota_stalls_in_the_rhythm_of_its_scheduler(
    share: float, period_s: float, seed: int
) -> None:
    trace = bulk(always, quota(share, period_s, random.Random(seed)))
    assert verdict_and_period(trace) == ("host_stall", pytest.approx(period_s))


@pytest.mark.parametrize("writes_s", [0.1, 0.05])
def test_an_application_that_writes_at_such_a_period_is_no_host_that_stalls(writes_s: float) -> None:
    factor, period_s = verdict_and_period(bulk(always, always, writes_s))
    assert factor != "host_stall"
    assert period_s is None


def paths(seeds: range) -> Iterator[Path]:
    """Round trips of exactly a scheduler's period, or nearly, from the first packet on."""
    for seed in seeds:
        dice = random.Random(seed)
        rtt_s = dice.choice((0.025, 0.03, 0.04, 0.05, 0.06, 0.075, 0.1, 0.15)) + dice.choice((0, 0, 2e-4, -2e-4))
        yield Path(rtt_s - 2 * WAY_S, dice.choice((0.0, 3e-4)), dice.choice((4, 8, 20, 60, 120)), dice.random() < 0.5)


@pytest.mark.parametrize("path", [*(Path(rtt_s - 2 * WAY_S) for rtt_s in (0.05, 0.1, 0.15)), *paths(range(12))])
def test_round_trips_as_long_as_such_a_period_are_no_host_that_stalls(path: Path) -> None:
    """A stopped host owes ACKs and echoes; a round trip's pause ends with the ACK that lets the next segment go."""
    factor, period_s = verdict_and_period(bulk(always, always, path=path))
    assert factor != "host_stall"
    assert period_s is None
