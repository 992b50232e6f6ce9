"""Planted events: each is one finding over all sizes and directions, dated within its uncertainty, with its cause."""

import math
from typing import Any

import numpy as np
import pytest

from tests.analyze.campaign_made import START_NS, request
from vmtrace.analyze.reports.storage.campaign_texts import event_text
from vmtrace.analyze.reports.storage.network_events import NetworkEvent, network_events
from vmtrace.analyze.reports.storage.packet_facts import PacketFacts
from vmtrace.analyze.reports.storage.requests import made

SIZES = (100_000, 10_000_000)
WINDOW_BYTES = 65_535
CAUSES = ("window", "front_end", "rate", "window_size", "round_trips")
Path = dict[str, Any]


def duration_s(size: int, path: Path) -> float:
    """Two round trips to connect and ask, then windows over round trips, or the rate of the path."""
    rate = min(path["rate_bps"] / 8, path["window"] / path["rtt_s"])
    return float(2 * path["rtt_s"] + 0.004 + size / rate)


def planted(cause: str, seed: int, n: int = 400, *, packets: bool = True) -> tuple[list[NetworkEvent], int]:
    """The events found, and when the event was: after so many of `n` requests of each kind, in ten hours."""
    chance = np.random.default_rng(seed)
    before: Path = {"rtt_s": 0.03, "window": WINDOW_BYTES, "scale": 0, "rate_bps": 1e9, "address": "192.0.2.1"}
    if cause in {"rate", "window_size", "round_trips"}:
        before |= {"window": 4_000_000, "scale": 7, "rate_bps": 300e6}
    changed: dict[str, Path] = {
        "window": {"rtt_s": 0.055}, "front_end": {"rtt_s": 0.055, "address": "192.0.2.9"}, "rate": {"rate_bps": 90e6},
        "window_size": {"window": 250_000}, "round_trips": {"rtt_s": 0.075},
    }  # fmt: skip
    after = before | changed[cause]
    at_s = 36_000 * chance.uniform(0.3, 0.7)
    times = np.sort(chance.uniform(0, 36_000, n))
    wander = np.exp(0.05 * np.convolve(chance.standard_normal(n + 9), np.ones(10) / 3, "valid"))
    rows, facts = [], []
    for place, (t, slow) in enumerate(zip(times, wander, strict=True)):
        path = before if t < at_s else after
        rtt_s = path["rtt_s"] * chance.uniform(1.0, 1.03)
        for size in SIZES:
            for direction in ("upload", "download"):
                takes_s = duration_s(size, path | {"rtt_s": rtt_s}) * slow * chance.uniform(0.95, 1.1)
                peer = f"{path['address']}:443"
                use = {"local": "10.0.0.1:40000", "peer": peer, "requests": 1, "opened": True, "rtt_s": rtt_s}
                rows.append(
                    request(t, 8 * size / takes_s, bytes=size, direction=direction, probe=place, front_end=peer,
                            connections=[use])
                )  # fmt: skip
                facts.append((rtt_s, path["scale"], path["window"], 1460))
    rtts, scales, windows, segments = np.array(facts, np.float64).T
    n = len(rows)
    seen = PacketFacts(rtts, scales, windows, segments, np.full(n, -1), (), n) if packets else None
    return network_events(made(rows), seen), START_NS + round(at_s * 1e9)


@pytest.mark.parametrize("cause", CAUSES)
def test_planted_events_are_found_dated_and_explained(cause: str) -> None:
    for seed in range(4):
        (event,), at_ns = planted(cause, seed)
        assert event.last_before_ns < at_ns <= event.first_after_ns
        assert event.first_after_ns - event.last_before_ns < 3600 * 10**9
        assert {(one.last_before_ns, one.first_after_ns) for one in event.steps} == {
            (event.last_before_ns, event.first_after_ns)
        }
        assert event.end_ns is None
        assert event.cause == cause


def test_without_packets_it_says_so_and_goes_by_connection_times() -> None:
    (event,), at_ns = planted("round_trips", 5, packets=False)
    assert event.last_before_ns < at_ns <= event.first_after_ns
    assert event.cause == "round_trips"
    assert "no packets were recorded" in event_text(event)
    (unknown,), _ = planted("rate", 5, packets=False)
    assert unknown.cause == "unknown"


def test_a_window_that_is_not_full_explains_nothing() -> None:
    """The round trip grows under a small window, but a path of 8 Mbit/s limits before and after."""
    chance = np.random.default_rng(1)
    rows, rtts = [], []
    for place in range(300):
        rtt_s = 0.02 if place < 160 else 0.03
        rate = (8e6 if place < 160 else 5.4e6) * math.exp(0.03 * chance.standard_normal())
        rows.append(request(60.0 * place, rate, bytes=10_000_000, probe=place))
        rtts.append(rtt_s)
    n = len(rows)
    facts = PacketFacts(np.array(rtts), np.zeros(n), np.full(n, 65_535.0), np.full(n, 1460.0), np.full(n, -1), (), n)
    (event,) = network_events(made(rows), facts)
    assert event.cause == "rate"
    assert event.steps[0].explanation is None


def test_a_noisy_step_is_found_where_the_round_trips_stepped() -> None:
    """Few requests before it: of twelve such series alone, three would be without a step."""

    def events(seed: int, *, known: bool) -> list[NetworkEvent]:
        chance = np.random.default_rng(seed)
        rows = []
        for place in range(90):
            early = place < 18
            rate = (3.6e6 if early else 2.4e6) * math.exp((0.18 if early else 0.1) * chance.standard_normal())
            rtt_s = 0.04 if early else 0.08
            use = {"local": "10.0.0.1:40000", "peer": "192.0.2.1:443", "rtt_s": rtt_s if known else None}
            rows.append(request(0.5 * place, rate, bytes=300_000, probe=place, connections=[use]))
        return network_events(made(rows), None)

    for seed in range(12):
        (event,) = events(seed, known=True)
        assert event.cause == "round_trips"
        assert event.last_before_ns < START_NS + 9 * 10**9 <= event.first_after_ns
    assert sum(bool(events(seed, known=False)) for seed in range(12)) < 12


def test_an_event_ends_where_its_effect_is_taken_back() -> None:
    chance = np.random.default_rng(2)
    levels = np.repeat([8e6, 3e6, 8e6], 60) * np.exp(0.05 * chance.standard_normal(180))
    first, second = network_events(made([request(60.0 * n, rate, probe=n) for n, rate in enumerate(levels)]), None)
    assert first.end_ns == second.first_after_ns
    assert second.end_ns is None
