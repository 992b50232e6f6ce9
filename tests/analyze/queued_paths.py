"""Packets that cross paths with queues, both ways, drawn from a seed; one clock for both captures unless one is set."""

from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.compare.arrays import Floats
from vmtrace.analyze.compare.clock import Crossings
from vmtrace.analyze.compare.host_ticks import Ticks, ticks

NS = 1e9
_START_NS = 1_700_000_000_000_000_000
_TICK_S = 0.001


@dataclass(frozen=True, slots=True)
class Way:
    """One direction: load of its bottleneck over time, as parts of the whole duration."""

    delay_s: float
    service_s: float
    """Of one packet."""
    load: tuple[float, ...]
    """Of what the bottleneck carries: above 1 its queue grows, below 1 it drains."""
    longest_s: float = 0.6
    """The whole queue."""
    own: float = 0.5
    """Share of the load that is in the captures."""
    route_s: tuple[float, float] = (2.0, 0.0)
    """From this part of the duration on, the route is longer by so many seconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """One clock is set."""

    whose: str
    at_s: float
    by_s: float


def through(way: Way, sent_s: Floats, duration_s: float, random: np.random.Generator) -> Floats:
    """When packets that are sent at these times arrive; NaN for those that the full queue does not hold."""
    parts = np.minimum((np.linspace(0, 1, 20_000, endpoint=False) * len(way.load)).astype(int), len(way.load) - 1)
    width_s = duration_s / 20_000
    crossing = np.array(way.load)[parts] * width_s / way.service_s
    others = random.poisson(np.where(np.arange(20_000) * width_s < 0.1, 0.0, crossing * (1 - way.own))) * way.service_s
    at, waiting_s, last_s, arrived = 0, 0.0, 0.0, np.full(len(sent_s), np.nan)
    for number, sent in enumerate(sent_s):
        while at < len(others) and at * width_s < sent:
            waiting_s = max(waiting_s - (at * width_s - last_s), 0.0)
            last_s = max(at * width_s, last_s)
            waiting_s = min(waiting_s + others[at], max(way.longest_s, waiting_s))
            at += 1
        waiting_s, last_s = max(waiting_s - (sent - last_s), 0.0), sent
        own_s = way.service_s if number > 1 else way.service_s / 20
        if waiting_s + own_s <= way.longest_s:
            waiting_s += own_s
            longer_s = way.route_s[1] if sent >= way.route_s[0] * duration_s else 0.0
            arrived[number] = sent + waiting_s + way.delay_s + longer_s + random.exponential(10e-6)
    return arrived


def _sent(way: Way, duration_s: float, random: np.random.Generator) -> Floats:
    share = np.array(way.load) * way.own
    steps = duration_s / len(share)
    times = [
        number * steps + np.sort(random.uniform(0, steps, random.poisson(one * steps / way.service_s)))
        for number, one in enumerate(share)
    ]
    return np.concatenate(times)


def crossings(
    there: Way,
    back: Way,
    duration_s: float,
    seed: int,
    steps: tuple[Step, ...] = (),
) -> tuple[Crossings, Floats, tuple[list[Ticks], list[Ticks]]]:
    """What two captures hold, each packet's delay, and timestamps. Every second packet is acknowledged."""
    random = np.random.default_rng(seed)
    data_s = np.append([0.0, back.delay_s + there.delay_s + 1e-4], _sent(there, duration_s, random) + 0.1)
    arrived_s = through(there, data_s, duration_s, random)
    known = ~np.isnan(arrived_s)
    data_s, arrived_s = data_s[known], arrived_s[known]
    arrived_s = np.maximum.accumulate(arrived_s)
    ack_s = arrived_s[::2] + 20e-6
    other_s = _sent(back, duration_s, random) + 0.1 if back.own else np.empty(0)
    back_s = np.sort(np.append(ack_s, other_s))
    came_s = through(back, back_s, duration_s, random)
    known = ~np.isnan(came_s)
    back_s, came_s = back_s[known], np.maximum.accumulate(came_s[known])
    forward = np.append(np.ones(len(data_s), np.bool_), np.zeros(len(back_s), np.bool_))
    here_s, there_s = np.append(data_s, came_s), np.append(arrived_s, back_s)
    numbers = [np.argsort(np.argsort(times, kind="stable"), kind="stable") for times in (here_s, there_s)]
    delay_s = np.abs(there_s - here_s)
    tsval = np.floor((np.where(forward, here_s - 15e-6, there_s - 15e-6) + 3.0) / _TICK_S).astype(np.int64)
    for one in steps:
        if one.whose == "sender":
            here_s = here_s + np.where(here_s >= one.at_s, one.by_s, 0.0)
        else:
            there_s = there_s + np.where(there_s >= one.at_s, one.by_s, 0.0)
    order = np.argsort(numbers[0])
    made = Crossings(
        numbers[0][order],
        numbers[1][order],
        _START_NS + (here_s[order] * NS).astype(np.int64),
        _START_NS + (there_s[order] * NS).astype(np.int64),
        forward[order],
    )
    hosts = tuple(
        ticks(packet[way], time_ns[way], tsval[order][way], np.zeros(int(way.sum()), np.int64))
        for packet, time_ns, way in (
            (made.sender_packet, made.sender_ns, made.forward),
            (made.receiver_packet, made.receiver_ns, ~made.forward),
        )
    )
    return made, delay_s[order], (hosts[0], hosts[1])


def drawn(seed: int) -> tuple[Way, Way, float]:
    """Paths whose queues rise, stand and drain in either direction or both, or whose route gets longer."""
    random = np.random.default_rng(seed)
    kind = seed % 5
    duration_s = float(random.uniform(6, 15))
    base_s = float(random.uniform(0.002, 0.06))

    def queued() -> tuple[float, ...]:
        return (0.3, *random.choice([0.6, 0.95, 1.0, 1.02, 1.15, 1.5], size=int(random.integers(3, 12))).tolist())

    service_s = float(random.choice([0.0008, 0.002, 0.006]))
    full = Way(base_s, service_s, queued(), own=float(random.uniform(0.3, 1)))
    empty = Way(base_s, 20e-6, (0.2,), own=0.0)
    light = Way(base_s, service_s, (0.4,), own=0.9)
    if kind == 0:
        return Way(base_s, service_s, (0.5, 1.4, *(1.03,) * 8), own=1.0), empty, duration_s
    if kind == 1:
        return full, empty, duration_s
    if kind == 2:
        return full, Way(base_s, service_s, queued(), own=0.4, longest_s=float(random.uniform(0.05, 0.6))), duration_s
    if kind == 3:
        return (
            light,
            Way(base_s, service_s, queued(), own=0.0),
            duration_s,
        )
    route = float(random.uniform(0.3, 0.7)), float(random.uniform(0.005, 0.08))
    return Way(base_s, service_s, queued(), own=0.6, route_s=route), empty, duration_s
