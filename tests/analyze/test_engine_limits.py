"""What limits transfers of known kinds, drawn at random with the truth at hand, beside controls of another cause."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.analyze.transfers_made import ACK, PSH, SEGMENT, Bulk, Capture, Packet, growing

SEEDS = range(6)
SURE = 0.8


def verdict(connection: dict[str, Any]) -> tuple[str, float]:
    found = connection["verdict"]
    return (found["factor"], found["confidence"]) if found else ("none", 0.0)


def times_s(connection: dict[str, Any], direction: str = "client_to_server") -> dict[str, float]:
    return {limit["factor"]: limit["time_s"] for limit in connection[direction]["limits"]}


def drawn(seed: int) -> tuple[Random, float, bool]:
    """A generator, a round trip in seconds, and whether the capture is at the sender."""
    random = Random(seed)
    return random, random.uniform(0.015, 0.12), random.random() < 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_a_window_that_a_queue_fills_is_the_paths_bandwidth(tmp_path: Path, seed: int) -> None:
    random, round_trip_s, at_sender = drawn(seed)
    service_s = random.uniform(0.0006, 0.002)
    window = round(random.uniform(2.5, 5) * round_trip_s / service_s)
    header = window * SEGMENT >> 7
    transfer = Bulk(25 * window, round_trip_s, growing(window), service_s, header, at_sender=at_sender)
    assert verdict(transfer.capture().connection(tmp_path))[0] == "bottleneck_bandwidth"
    # The control: the same window on a path that is far from full.
    wide = replace(transfer, service_s=service_s / 20)
    assert verdict(wide.capture().connection(tmp_path))[0] == "receiver_window"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_handshake_that_was_answered_nearer_shows_no_queue(tmp_path: Path, seed: int) -> None:
    random, round_trip_s, _ = drawn(seed)
    window = random.randint(40, 120)
    far = Bulk(30 * window, round_trip_s, growing(window))
    near = replace(far, handshake_s=random.uniform(0.0002, round_trip_s / 5 - 0.001))
    found, control = (one.capture().connection(tmp_path) for one in (near, far))
    assert verdict(found)[0] == verdict(control)[0] == "send_buffer"
    assert "a device nearer" in found["verdict"]["sentence"]
    assert "nearer" not in control["verdict"]["sentence"]


@pytest.mark.parametrize("seed", SEEDS)
def test_in_mid_stream_a_flight_at_the_window_shows_its_scale(tmp_path: Path, seed: int) -> None:
    random, round_trip_s, _ = drawn(seed)
    header = random.randint(400, 1200)
    window = (header << 7) // SEGMENT
    transfer = Bulk(60 * window, round_trip_s, growing(window), advertised=header)
    found = transfer.capture().connection(tmp_path, from_s=12 * round_trip_s)
    assert verdict(found)[0] == "receiver_window"
    # The control: a send buffer of three quarters of that.
    smaller = replace(transfer, window=growing(3 * window // 4))
    factor, confidence = verdict(smaller.capture().connection(tmp_path, from_s=12 * round_trip_s))
    assert factor != "receiver_window" or confidence <= SURE


@pytest.mark.parametrize("seed", SEEDS)
def test_a_flight_that_stands_at_a_long_round_trip_is_the_senders_own_limit(tmp_path: Path, seed: int) -> None:
    random, _, at_sender = drawn(seed)
    window = random.randint(30, 60)
    transfer = Bulk(random.randint(10, 14) * window, random.uniform(0.15, 0.3), growing(window), at_sender=at_sender)
    assert verdict(transfer.capture().connection(tmp_path))[0] == "send_buffer"
    # The control: a congestion window that grows by a segment in two round trips, as CUBIC's does at least.
    slowly = replace(
        transfer, window=lambda acknowledged: min(10 + acknowledged, window + acknowledged // (2 * window))
    )
    factor, confidence = verdict(slowly.capture().connection(tmp_path))
    assert factor != "send_buffer" or confidence <= SURE


@pytest.mark.parametrize("seed", SEEDS)
def test_what_leaves_at_a_fixed_clock_is_not_surely_a_send_buffer(tmp_path: Path, seed: int) -> None:
    random, round_trip_s, _ = drawn(seed)
    window = random.randint(40, 80)
    jitter = partial(random.expovariate, 10 / round_trip_s)
    # A shaper at the sender's own interface: the kernel is never short of data, and its window never full.
    clock_s = 2 * round_trip_s / window
    shaped = Bulk(40 * window, round_trip_s, growing(window), jitter_s=jitter, clock_s=clock_s)
    factor, confidence = verdict(shaped.capture().connection(tmp_path))
    assert factor != "send_buffer" or confidence <= 0.6
    # The control: acknowledgements alone let segments go, as a send buffer does.
    free = replace(shaped, clock_s=2e-6)
    factor, confidence = verdict(free.capture().connection(tmp_path))
    assert factor == "send_buffer"
    assert confidence > 0.6


@pytest.mark.parametrize("syns_s", [(0.0, 1.0), (0.0, 1.0, 3.0)])
def test_lost_syns_are_in_sentence_and_frames(tmp_path: Path, syns_s: tuple[float, ...]) -> None:
    transfer = Bulk(40, 0.03, growing(40), syns_s=syns_s)
    found = transfer.capture().connection(tmp_path)["verdict"]
    assert found["factor"] == "setup"
    assert f"after {syns_s[-1]:.1f} s" in found["sentence"]
    assert len(syns_s) in found["evidence"][0]["frames"]
    control = replace(transfer, syns_s=(0.0,)).capture().connection(tmp_path)["verdict"]
    assert "again" not in control["sentence"]


def with_tail_lost(transfer: Bulk, probe_s: float) -> Capture:
    """The last segment, short, is lost behind the sender and sent again after so long."""
    capture = transfer.capture()
    last = [packet for packet in capture.packets if packet.length][-1]
    end = last.sequence + SEGMENT
    answer = next(packet for packet in capture.packets if packet.acknowledged == end)
    short = replace(last, length=700, flags=ACK | PSH)
    again_s = last.time_s + probe_s
    kept = [packet for packet in capture.packets if packet not in (last, answer)]
    return Capture([
        *kept, short, replace(short, time_s=again_s),
        replace(answer, acknowledged=last.sequence + 700, time_s=again_s + transfer.round_trip_s),
    ])  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tail_that_is_lost_is_no_pause_of_the_application(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    transfer = Bulk(random.randint(12, 24), random.uniform(0.01, 0.018), growing(1000))
    assert verdict(with_tail_lost(transfer, 0.04).connection(tmp_path))[0] == "timeout_wait"


def given_credit(random: Random, amount: int, message: int, round_trip_s: float) -> Capture:
    """A server that sends so much, and waits for a message of its client; seen at the server."""
    capture = Capture()
    capture.open(round_trip_s, at_client=False)
    now_s, sent, asked = round_trip_s * 2, 5000, 1000
    for _ in range(30):
        capture.add(Packet(now_s, True, asked, sent, ACK | PSH, length=message, window=4000))
        asked, start_s, back_s = asked + message, now_s + random.uniform(1e-4, 3e-4), now_s
        for number in range(0, amount, SEGMENT):
            length = min(SEGMENT, amount - number)
            at_s = start_s + number / SEGMENT * 2e-5
            capture.add(Packet(at_s, False, sent + number, asked, length=length))
            back_s = at_s + round_trip_s + 1e-4
            capture.add(Packet(back_s, True, asked, sent + number + length, window=4000))
        sent, now_s = sent + amount, back_s + random.uniform(1e-4, 1e-3)
    return capture


@pytest.mark.parametrize("seed", SEEDS)
def test_waiting_for_credit_is_the_peers_application_window(tmp_path: Path, seed: int) -> None:
    random, round_trip_s, _ = drawn(seed)
    amount, message = random.choice([32_768, 65_535, 131_072]), random.randint(13, 120)
    found = given_credit(random, amount, message, round_trip_s).connection(tmp_path)
    assert verdict(found)[0] == "application_window"
    # The control: long requests, as of a browser.
    asked = given_credit(random, amount, random.randint(400, 900), round_trip_s).connection(tmp_path)
    assert verdict(asked)[0] == "application"


def silent_end(random: Random, *, closes: bool, idle_s: float) -> tuple[Capture, float]:
    """An upload of some segments, and then a window that stays closed, or a pause and data that nobody acknowledges."""
    capture, round_trip_s = Bulk(random.randint(12, 40), 0.02, growing(40)).capture(), 0.02
    last = max((packet for packet in capture.packets if not packet.from_client), key=lambda packet: packet.acknowledged)
    at_s, end = last.time_s, last.acknowledged
    if closes:
        capture.packets[capture.packets.index(last)] = replace(last, window=0)
        for number in range(6):
            at_s += 0.25 * 2**number
            capture.add(Packet(at_s, True, end - 1, 5000))
            capture.add(Packet(at_s + round_trip_s, False, 5000, end, window=0))
        return capture, at_s + round_trip_s
    at_s += idle_s
    sent = [Packet(at_s + number * 1e-5, True, end + number * SEGMENT, 5000, length=SEGMENT) for number in range(8)]
    again = [replace(sent[0], time_s=at_s + 0.22 * (2**number - 1) + 0.22) for number in range(7)]
    return Capture([*capture.packets, *sent, *again]), again[-1].time_s


@pytest.mark.parametrize("seed", SEEDS)
def test_limits_reach_to_the_last_packet_whatever_is_waited_for(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    closed, end_s = silent_end(random, closes=True, idle_s=0)
    connection = closed.connection(tmp_path)
    assert verdict(connection)[0] == "receiver_window"
    assert sum(times_s(connection).values()) == pytest.approx(end_s, rel=0.01)
    assert times_s(connection)["receiver_window"] == pytest.approx(end_s, rel=0.05)
    idle_s = random.uniform(5, 30)
    silent, end_s = silent_end(random, closes=False, idle_s=idle_s)
    found = times_s(silent.connection(tmp_path))
    assert sum(found.values()) == pytest.approx(end_s, rel=0.01)
    assert found.get("loss_recovery", 0.0) < 0.5, "recovery begins after the pause"
    assert found.get("idle", 0.0) + found.get("application", 0.0) == pytest.approx(idle_s, abs=0.2)
