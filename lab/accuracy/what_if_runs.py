"""Pairs of transfers that differ by exactly one change: the change that a what-if of a verdict is about.

Every pair has a fixed amount of data, so that both transfers answer "how long does this take". The change is made
several times, with other dice each. Parameters are drawn by a seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from vmtrace.lab import scenario
from vmtrace.lab.accuracy import gap_runs
from vmtrace.lab.accuracy.gap_runs import StalledGuest
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import Hold, Impairments, TokenBucket
from vmtrace.lab.pcap_file import read_packets
from vmtrace.lab.stalls import Stalls
from vmtrace.lab.transfer import Kind, NotDoneError, Transfer

NO_LOSS = "no loss"
WINDOW = "twice the receiver's window"
READS = "a receiver that never closes its window"
BUFFER = "twice the send buffer"
BANDWIDTH = "twice the bottleneck bandwidth"
NO_BUCKET = "no token bucket"
NO_STALLS = "no stalls"
APPLICATION = "an application that always has data to send"
WARM = "a reused connection, past slow start"

_FIN = 1
_LONGEST_S = 50.0
_WARM_EXCHANGES = 5
_SEGMENT_BYTES = 1448


@dataclass(frozen=True, slots=True)
class Pair:
    """A transfer, the same with one change, and the words a verdict has for the change."""

    name: str
    change: str
    base: Scenario | StalledGuest
    changed: Scenario | StalledGuest

    @property
    def kind(self) -> str:
        """The name without its number."""
        return self.name.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Done:
    """A transfer that was made: its captures and what it reached."""

    sender_pcap: Path
    receiver_pcap: Path
    goodput_bps: float


def draw(seed: int, each: int) -> list[Pair]:
    """`each` pairs of every kind."""
    dice = random.Random(f"{seed}/what-if")
    return [maker(dice, f"{maker.__name__[1:]}-{number}") for maker in _MAKERS for number in range(each)]


def _path(rtt_s: float, rate_bps: float, queue_bytes: int, loss: float = 0.0) -> tuple[Impairments, Impairments]:
    back = Impairments(delay_s=rtt_s / 2)
    return replace(back, rate_bps=rate_bps, queue_bytes=queue_bytes, loss=loss), back


def _scenario(
    name: str, transfer: Transfer, path: tuple[Impairments, Impairments], dice: random.Random, control: str = ""
) -> Scenario:
    host = HostSettings(control or dice.choice(("cubic", "cubic", "reno")))
    topology = Topology.OFFLOAD if dice.random() < 0.3 else Topology.TUN
    return Scenario(
        name, name, transfer, *path, sender=host, receiver=host, topology=topology, seed=dice.randrange(1 << 31)
    )


def _bulk(payload_bytes: float, **settings: float | tuple[tuple[int, float], ...]) -> Transfer:
    return Transfer(seconds=_LONGEST_S, payload_bytes=round(payload_bytes), **settings)  # type: ignore[arg-type]


def _queue_bytes(dice: random.Random, rate_bps: float, rtt_s: float) -> int:
    return max(round(dice.uniform(0.5, 2.5) * rate_bps / 8 * rtt_s), 40_000)


def _losing(dice: random.Random, name: str, control: str, rtt_s: float) -> Pair:
    rate_bps, loss = dice.uniform(15e6, 60e6), 10 ** dice.uniform(-3, -1.52)
    reached_bps = min(0.8 * rate_bps, 1.22 * _SEGMENT_BYTES * 8 / rtt_s / loss**0.5)
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s), loss)
    base = _scenario(name, _bulk(max(reached_bps / 8 * dice.uniform(2.5, 5), 200_000)), path, dice, control)
    return Pair(name, NO_LOSS, base, replace(base, forward=replace(base.forward, loss=0.0)))


def _loss_cubic(dice: random.Random, name: str) -> Pair:
    return _losing(dice, name, "cubic", dice.uniform(0.02, 0.08))


def _loss_reno(dice: random.Random, name: str) -> Pair:
    return _losing(dice, name, "reno", dice.uniform(0.02, 0.1))


def _loss_long(dice: random.Random, name: str) -> Pair:
    return _losing(dice, name, dice.choice(("cubic", "reno")), dice.uniform(0.1, 0.213))


def _loss_bbr(dice: random.Random, name: str) -> Pair:
    return _losing(dice, name, "bbr", dice.uniform(0.02, 0.15))


def _window(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.03, 0.15), dice.uniform(15e6, 60e6)
    buffer_bytes = round(dice.uniform(0.08, 0.7) * rate_bps / 8 * rtt_s)
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    transfer = _bulk(buffer_bytes / rtt_s * dice.uniform(3, 5), receive_buffer_bytes=max(buffer_bytes, 8192))
    base = _scenario(name, transfer, path, dice)
    more = replace(transfer, receive_buffer_bytes=2 * transfer.receive_buffer_bytes)
    return Pair(name, WINDOW, base, replace(base, transfer=more))


def _reader(dice: random.Random, name: str) -> Pair:
    """A reader that pauses: its window closes, and a larger one changes little."""
    base = _pausing_reader(dice, name)
    more = replace(base.transfer, receive_buffer_bytes=2 * base.transfer.receive_buffer_bytes)
    return Pair(name, WINDOW, base, replace(base, transfer=more))


def _reading(dice: random.Random, name: str) -> Pair:
    """The same reader, without its pauses."""
    base = _pausing_reader(dice, name)
    return Pair(name, READS, base, replace(base, transfer=replace(base.transfer, read_pauses=())))


def _pausing_reader(dice: random.Random, name: str) -> Scenario:
    rtt_s, rate_bps = dice.uniform(0.01, 0.06), dice.uniform(15e6, 40e6)
    payload_bytes = rate_bps / 8 * 2
    pauses = tuple((round(payload_bytes * at / 4), dice.uniform(0.5, 0.9)) for at in range(1, 4))
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    buffer_bytes = dice.choice((32_768, 65_536, 131_072))
    return _scenario(name, _bulk(payload_bytes, receive_buffer_bytes=buffer_bytes, read_pauses=pauses), path, dice)


def _buffer(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.03, 0.15), dice.uniform(20e6, 60e6)
    buffer_bytes = max(round(dice.uniform(0.05, 0.5) * rate_bps / 8 * rtt_s), 16_384)
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    transfer = _bulk(
        2 * buffer_bytes / rtt_s * dice.uniform(3, 5), send_buffer_bytes=buffer_bytes, write_bytes=_SEGMENT_BYTES
    )
    base = _scenario(name, transfer, path, dice)
    return Pair(name, BUFFER, base, replace(base, transfer=replace(transfer, send_buffer_bytes=2 * buffer_bytes)))


def _bandwidth(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.01, 0.08), dice.uniform(4e6, 25e6)
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    base = _scenario(name, _bulk(rate_bps / 8 * dice.uniform(3, 5)), path, dice)
    return Pair(name, BANDWIDTH, base, replace(base, forward=replace(base.forward, rate_bps=2 * rate_bps)))


def _bucket(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.01, 0.06), dice.uniform(30e6, 60e6)
    bucket = TokenBucket(rate_bps * dice.uniform(0.15, 0.4), round(rate_bps / 8 * dice.uniform(0.3, 0.8)), 300_000)
    forward, back = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    payload_bytes = bucket.burst_bytes + bucket.rate_bps / 8 * 4
    base = _scenario(name, _bulk(payload_bytes), (replace(forward, token_bucket=bucket), back), dice)
    return Pair(name, NO_BUCKET, base, replace(base, forward=forward))


def _pieces(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps, interval_s = dice.uniform(0.01, 0.1), dice.uniform(20e6, 60e6), dice.uniform(0.02, 0.2)
    piece_bytes = max(round(dice.uniform(0.05, 0.3) * rate_bps / 8 * interval_s), 3000)
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    transfer = _bulk(piece_bytes * 4 / interval_s, write_bytes=piece_bytes, write_interval_s=interval_s)
    base = _scenario(name, transfer, path, dice)
    return Pair(name, APPLICATION, base, replace(base, transfer=_bulk(transfer.payload_bytes)))


def _pauses(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.01, 0.08), dice.uniform(10e6, 40e6)
    every_bytes = round(dice.uniform(0.2, 0.5) * rate_bps / 8)
    pauses = tuple((number * every_bytes, dice.uniform(0.3, 0.9)) for number in range(1, 5))
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    base = _scenario(name, _bulk(5 * every_bytes, write_pauses=pauses), path, dice)
    return Pair(name, APPLICATION, base, replace(base, transfer=_bulk(5 * every_bytes)))


def _turns(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.01, 0.08), dice.uniform(20e6, 60e6)
    exchanges, response_bytes = round(3 / (rtt_s + 0.01)), dice.choice((8_000, 14_000, 20_000))
    path = _path(rtt_s, rate_bps, _queue_bytes(dice, rate_bps, rtt_s))
    transfer = Transfer(Kind.EXCHANGE, seconds=_LONGEST_S, exchanges=exchanges, response_bytes=response_bytes)
    base = _scenario(name, transfer, path, dice)
    at_once = Transfer(Kind.DOWNLOAD, seconds=_LONGEST_S, payload_bytes=exchanges * response_bytes)
    return Pair(name, APPLICATION, base, replace(base, transfer=at_once))


def _warm(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.06, 0.2), dice.uniform(20e6, 60e6)
    response_bytes = 14_480 * round(2 ** dice.uniform(3, 5))
    path = _path(rtt_s, rate_bps, round(2 * rate_bps / 8 * rtt_s))
    transfer = Transfer(Kind.EXCHANGE, seconds=_LONGEST_S, exchanges=1, response_bytes=response_bytes)
    base = _scenario(name, transfer, path, dice)
    return Pair(name, WARM, base, replace(base, transfer=replace(transfer, exchanges=_WARM_EXCHANGES)))


def _stalls(dice: random.Random, name: str) -> Pair:
    rtt_s, rate_bps = dice.uniform(0.008, 0.05), dice.uniform(10e6, 25e6)
    path = _path(rtt_s, rate_bps, round(2 * rate_bps / 8 * max(rtt_s, 0.02)))
    stalls = Stalls(0.4, 1.2, 0.25, 0.8)
    base = StalledGuest(name, *path, stalls, dice.randrange(1 << 31), seconds=20, payload_bytes=round(rate_bps / 8 * 5))
    return Pair(name, NO_STALLS, base, replace(base, stalls=Stalls(1000, 1001, 0.1, 0.2)))


def _stopped(dice: random.Random, name: str) -> Pair:
    """A full window on a path that stops twice, by the clock: a faster transfer is over before, or soon after."""
    base = _window(dice, name).base
    assert isinstance(base, Scenario)
    holds = tuple(Hold(at_s + dice.uniform(-0.3, 0.3), dice.uniform(0.35, 0.6)) for at_s in (1.3, 3.4))
    stopping = replace(base, forward=replace(base.forward, holds=holds), reverse=replace(base.reverse, holds=holds))
    transfer = stopping.transfer
    more = replace(transfer, receive_buffer_bytes=2 * transfer.receive_buffer_bytes)
    return Pair(name, WINDOW, stopping, replace(stopping, transfer=more))


_MAKERS: tuple[Callable[[random.Random, str], Pair], ...] = (
    _loss_cubic, _loss_reno, _loss_long, _loss_bbr, _window, _reader, _buffer, _bandwidth, _bucket, _pieces, _pauses,
    _turns, _warm, _stalls, _reading, _stopped,
)  # fmt: skip


def names(times: int) -> list[str]:
    """Folders of a pair: the transfer, and the change so many times."""
    return ["base", *(f"changed-{number}" for number in range(times))]


def make(pair: Pair, folder: Path, times: int) -> bool:
    """Makes what is missing of a pair: the transfer once, the change `times`; false if the machine was too busy."""
    wanted = [pair.base, *(_again(pair.changed, number) for number in range(times))]
    return all(_is_made(one, folder / name) for name, one in zip(names(times), wanted, strict=True))


def _again(wanted: Scenario | StalledGuest, number: int) -> Scenario | StalledGuest:
    return replace(wanted, seed=wanted.seed + 1 + number)


def _is_made(wanted: Scenario | StalledGuest, folder: Path) -> bool:
    kept = folder / "done.json"
    if kept.exists():
        return True
    try:
        done = _run_guest(wanted, folder) if isinstance(wanted, StalledGuest) else _run_scenario(wanted, folder)
    except NotDoneError:
        return False
    if done is None:
        return False
    facts = {
        "sender": done.sender_pcap.name, "receiver": done.receiver_pcap.name, "goodput_bps": done.goodput_bps
    }  # fmt: skip
    kept.write_text(json.dumps(facts))
    return True


def load(folder: Path) -> Done:
    """What `make` kept of one transfer."""
    facts = json.loads((folder / "done.json").read_text())
    return Done(folder / facts["sender"], folder / facts["receiver"], float(facts["goodput_bps"]))


def _run_guest(wanted: StalledGuest, folder: Path) -> Done | None:
    made = gap_runs.run_sound_stalled_guest(wanted, folder)
    if made is None:
        return None
    sender = folder / "guest.pcap"
    duration_s = time_to_the_readers_fin_s(sender)
    return Done(sender, folder / "outside.pcap", wanted.payload_bytes * 8 / duration_s)


def _run_scenario(wanted: Scenario, folder: Path) -> Done | None:
    done = scenario.run(wanted, folder, attempts=3, good_enough=attrgetter("agreed"))
    if not done.agreed:
        return None
    duration_s, transfer = time_to_the_readers_fin_s(done.sender_pcap), wanted.transfer
    payload_bytes = transfer.payload_bytes
    if transfer.kind is Kind.EXCHANGE:
        payload_bytes = transfer.exchanges * transfer.response_bytes
    if transfer.exchanges == _WARM_EXCHANGES:
        (client,) = done.truth["ends"]["receiver"]["connections"]
        payload_bytes, duration_s = transfer.response_bytes, client["exchange_s"][-1]
    return Done(done.sender_pcap, done.receiver_pcap, payload_bytes * 8 / duration_s)


def time_to_the_readers_fin_s(sender_pcap: Path) -> float:
    """From the first packet to the reader's FIN: a reader closes when it has read all, so it acknowledges all data."""
    packets = list(read_packets(sender_pcap))
    sent: dict[bytes, int] = {}
    for packet in packets:
        sent[packet.source] = sent.get(packet.source, 0) + packet.payload_bytes
    writer = max(sent, key=lambda source: sent[source])
    end_ns = next(packet.time_ns for packet in packets if packet.source != writer and packet.flags & _FIN)
    return (end_ns - packets[0].time_ns) / 1e9
