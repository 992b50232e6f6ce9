"""Transfers of which it is known what limits them: the factor by construction, its parameters by dice from a seed.

What should not matter is drawn too: congestion control, IP version, timestamps, SACK (where nothing is lost), offload.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from vmtrace.lab.accuracy import gap_runs
from vmtrace.lab.accuracy.gap_runs import Made, StalledGuest
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import Hold, Impairments, TokenBucket
from vmtrace.lab.stalls import Stalls
from vmtrace.lab.transfer import Transfer

_ENDLESS_BYTES = 1 << 34
_SEND_BUFFERS = (16_384, 32_768, 65_536, 131_072, 262_144)
_WRITES = (1448, 4096, 16_384, 65_536, 131_072)
_WITHOUT_NAGLE = 0.5
_WITHOUT_SACK, _WITHOUT_TIMESTAMPS, _WITH_IPV6, _WITH_OFFLOAD = 0.25, 0.25, 0.25, 0.3


@dataclass(frozen=True, slots=True)
class Labelled:
    """A transfer, the factors that count as the right verdict (the first is its label), and how to run it."""

    name: str
    factors: tuple[str, ...]
    run: Callable[[Path], Made | None]
    crossed: str = ""
    """What was drawn besides, in words."""
    witnessed: float = 0.0
    """What is drawn makes the factor likely, not certain: it counts where it was seen for such a share of the time."""
    places: tuple[str, ...] = ("sender", "middle", "receiver")
    """Where the packets show it: nobody sees behind a loss what was lost."""


def over_a_path(description: Scenario, factors: tuple[str, ...], words: Iterable[str]) -> Labelled:
    """A transfer of the lab's own; `words` say what was drawn."""
    return Labelled(
        description.name,
        factors,
        lambda folder: gap_runs.run_path(description, folder, good_enough=gap_runs.no_false_stall),
        ", ".join(words),
    )


def draw(seed: int, each: int) -> list[Labelled]:
    """`each` transfers of every kind."""
    dice = random.Random(seed)
    makers = (
        _receiver_window,
        _send_buffer,
        _pieces,
        _pauses,
        _bottleneck,
        _losses,
        _slow_start,
        _blackouts,
        _shaper,
        _policer,
        _stalled_sender,
        _stalled_receiver,
        _quota_sender,
        _quota_receiver,
        _send_buffer_writes,
        _send_buffer_losses,
        _own_pace,
    )
    return [maker(dice, f"{maker.__name__[1:]}-{number}") for maker in makers for number in range(each)]


def _rtt_s(dice: random.Random, least: float, most: float) -> float:
    return round(dice.uniform(least, most) * 1000) / 1000


def _path(
    rtt_s: float, rate_bps: float, queue_bytes: int, *, loss: float = 0.0, holds: tuple[Hold, ...] = ()
) -> tuple[Impairments, Impairments]:
    back = Impairments(delay_s=rtt_s / 2, holds=holds)
    return replace(back, rate_bps=rate_bps, queue_bytes=queue_bytes, loss=loss), back


def _labelled(
    name: str,
    factors: tuple[str, ...],
    path: tuple[Impairments, Impairments],
    transfer: Transfer,
    dice: random.Random,
    *congestion_controls: str,
    loses: bool = True,
) -> Labelled:
    # Without SACK a queue that overflows once keeps a sender repairing for seconds: another limit than the one meant.
    without_sack = not loses and dice.random() < _WITHOUT_SACK
    host = HostSettings(
        dice.choice(congestion_controls or ("cubic", "reno")),
        sack=not without_sack,
        timestamps=dice.random() >= _WITHOUT_TIMESTAMPS,
    )
    ip_version = 6 if dice.random() < _WITH_IPV6 else 4
    topology = Topology.OFFLOAD if dice.random() < _WITH_OFFLOAD else Topology.TUN
    description = Scenario(
        name, name, transfer, *path, sender=host, receiver=host, topology=topology, ip_version=ip_version,
        seed=dice.randrange(1 << 31),
    )  # fmt: skip
    words = [host.congestion_control]
    words += ["IPv6"] if ip_version == 6 else []
    words += ["offload"] if topology is Topology.OFFLOAD else []
    words += [] if host.timestamps else ["no timestamps"]
    words += [] if host.sack else ["no SACK"]
    return over_a_path(description, factors, words)


def _receiver_window(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.03, 0.15), dice.uniform(30e6, 60e6)
    # The kernel doubles the buffer and advertises at most half to all of it: a fifth of the path's rate or less.
    buffer_bytes = round(dice.uniform(0.05, 0.2) * rate_bps / 8 * rtt_s)
    transfer = Transfer(seconds=5, payload_bytes=_ENDLESS_BYTES, receive_buffer_bytes=max(buffer_bytes, 8192))
    return _labelled(
        name,
        ("receiver_window",),
        _path(rtt_s, rate_bps, 4_000_000),
        transfer,
        dice,
        "cubic",
        "reno",
        "bbr",
        loses=False,
    )


def _send_buffer(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.05, 0.15), dice.uniform(30e6, 60e6)
    buffer_bytes = round(dice.uniform(0.05, 0.2) * rate_bps / 8 * rtt_s)
    # Pieces of a segment: larger ones wake the writer in bursts that the emulator cannot take in on time.
    transfer = Transfer(
        seconds=5, payload_bytes=_ENDLESS_BYTES, send_buffer_bytes=max(buffer_bytes, 16_384), write_bytes=1448
    )
    return _labelled(name, ("send_buffer",), _path(rtt_s, rate_bps, 4_000_000), transfer, dice, loses=False)


def _send_buffer_writes(dice: random.Random, name: str) -> Labelled:
    """Writes of any size, which Linux takes in as a whole where a buffer has room for a part of them."""
    rtt_s, rate_bps = dice.choice((0.005, 0.01, 0.02, 0.05, 0.1)), 140e6
    # The kernel doubles the buffer. With a write besides it must be less than fills the path, as a megabyte is not.
    most_bytes = 0.6 * rate_bps / 8 * rtt_s
    fitting = [(size, write) for size in _SEND_BUFFERS for write in _WRITES if 2 * size + write <= most_bytes]
    buffer_bytes = dice.choice(sorted({size for size, _ in fitting}))
    transfer = Transfer(
        seconds=5,
        payload_bytes=_ENDLESS_BYTES,
        send_buffer_bytes=buffer_bytes,
        write_bytes=dice.choice([write for size, write in fitting if size == buffer_bytes]),
        no_delay=dice.random() < _WITHOUT_NAGLE,
    )
    return _send_buffer_of_any_kind(name, rtt_s, rate_bps, 0, transfer, dice)


def _send_buffer_losses(dice: random.Random, name: str) -> Labelled:
    """So few losses that a congestion window (Mathis) is several times the buffer; some four of them."""
    rtt_s, rate_bps = dice.choice((0.01, 0.02, 0.05)), 140e6
    transfer = Transfer(
        seconds=12,
        payload_bytes=_ENDLESS_BYTES,
        send_buffer_bytes=dice.choice(_SEND_BUFFERS[:3]),
        write_bytes=dice.choice(_WRITES),
        no_delay=dice.random() < _WITHOUT_NAGLE,
    )
    segments = 2 * transfer.send_buffer_bytes / 1448
    loss = min((1.22 / (6 * segments)) ** 2, 4 / (segments * transfer.seconds / rtt_s))
    return _send_buffer_of_any_kind(name, rtt_s, rate_bps, loss, transfer, dice)


def _send_buffer_of_any_kind(
    name: str, rtt_s: float, rate_bps: float, loss: float, transfer: Transfer, dice: random.Random
) -> Labelled:
    path = _path(rtt_s, rate_bps, 4_000_000, loss=loss)
    made = _labelled(name, ("send_buffer",), path, transfer, dice, "cubic", "reno", "bbr", loses=loss > 0)
    words = (
        f"{transfer.send_buffer_bytes >> 10} kB, writes of {transfer.write_bytes / 1024:.3g} kB, {rtt_s * 1e3:.0f} ms"
    )
    words += ", no delay" if transfer.no_delay else ""
    # BBR paces what the buffer leaves it, and the kernel does not count pacing for the buffer.
    witnessed = 0.3 if made.crossed.startswith("bbr") else 0.6
    return replace(made, crossed=f"{made.crossed}, {words}", witnessed=witnessed)


def _pieces(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.01, 0.08), dice.uniform(20e6, 60e6)
    interval_s = dice.uniform(0.02, 0.2)
    piece_bytes = round(dice.uniform(0.05, 0.25) * rate_bps / 8 * interval_s)
    transfer = Transfer(
        seconds=5, payload_bytes=_ENDLESS_BYTES, write_bytes=max(piece_bytes, 3000), write_interval_s=interval_s
    )
    path = _path(rtt_s, rate_bps, 4_000_000)
    return _labelled(name, ("application",), path, transfer, dice, "cubic", "reno", "bbr", loses=False)


def _own_pace(dice: random.Random, name: str) -> Labelled:
    """Pieces of whole kilobytes in short intervals, several in a round trip: nothing rests between them."""
    rtt_s, rate_bps = dice.choice((0.01, 0.02, 0.05)), 140e6
    piece_bytes, interval_s = dice.choice(
        ((8192, 0.005), (11_584, 0.005), (16_384, 0.013), (65_536, 0.05), (131_072, 0.1))
    )
    transfer = Transfer(
        seconds=5,
        payload_bytes=_ENDLESS_BYTES,
        write_bytes=piece_bytes,
        write_interval_s=interval_s,
        no_delay=dice.random() < _WITHOUT_NAGLE,
    )
    path = _path(rtt_s, rate_bps, 4_000_000)
    return _labelled(name, ("application",), path, transfer, dice, "cubic", "reno", "bbr", loses=False)


def _pauses(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.01, 0.05), dice.uniform(10e6, 30e6)
    every_bytes = round(0.5 * rate_bps / 8)
    pauses = tuple((number * every_bytes, dice.uniform(0.3, 0.9)) for number in range(1, 6))
    transfer = Transfer(seconds=9, payload_bytes=6 * every_bytes, write_pauses=pauses)
    return _labelled(name, ("application",), _path(rtt_s, rate_bps, 300_000), transfer, dice, "cubic", "reno", "bbr")


def _bottleneck(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.005, 0.06), dice.uniform(5e6, 40e6)
    queue_bytes = max(round(dice.uniform(0.8, 3) * rate_bps / 8 * rtt_s), 30_000)
    transfer = Transfer(seconds=6, payload_bytes=_ENDLESS_BYTES)
    path = _path(rtt_s, rate_bps, queue_bytes)
    return _labelled(name, ("bottleneck_bandwidth",), path, transfer, dice, "cubic", "reno", "bbr")


def _losses(dice: random.Random, name: str) -> Labelled:
    rtt_s, loss = _rtt_s(dice, 0.03, 0.1), dice.uniform(0.004, 0.02)
    # Mathis: what the losses allow is a third of what the path does, or less.
    rate_bps = max(3 * 1448 * 8 / rtt_s * 1.22 / loss**0.5, 20e6)
    transfer = Transfer(seconds=6, payload_bytes=_ENDLESS_BYTES)
    path = _path(rtt_s, rate_bps, 4_000_000, loss=loss)
    return _labelled(name, ("congestion_window", "loss_recovery"), path, transfer, dice)


def _slow_start(dice: random.Random, name: str) -> Labelled:
    rtt_s = _rtt_s(dice, 0.08, 0.2)
    transfer = Transfer(seconds=9, payload_bytes=14_480 * (2 ** dice.randint(4, 5)))
    path = _path(rtt_s, 80e6, 4_000_000)
    return _labelled(name, ("slow_start",), path, transfer, dice, "cubic", "reno", "bbr", loses=False)


def _blackouts(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.01, 0.06), dice.uniform(8e6, 25e6)
    holds = tuple(Hold(start_s, dice.uniform(0.5, 0.9), drop=True) for start_s in (1.2, 3.1))
    forward, back = _path(rtt_s, rate_bps, 200_000, holds=holds)
    transfer = Transfer(seconds=5.5, payload_bytes=_ENDLESS_BYTES)
    return _labelled(name, ("path_outage", "timeout_wait"), (forward, back), transfer, dice)


def _shaper(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.01, 0.05), dice.uniform(30e6, 60e6)
    bucket = TokenBucket(rate_bps * dice.uniform(0.15, 0.4), round(rate_bps / 8 * dice.uniform(0.6, 1.2)), 300_000)
    forward, back = _path(rtt_s, rate_bps, 300_000)
    transfer = Transfer(seconds=6, payload_bytes=_ENDLESS_BYTES)
    return _labelled(name, ("token_bucket",), (replace(forward, token_bucket=bucket), back), transfer, dice)


def _policer(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.01, 0.04), dice.uniform(8e6, 20e6)
    forward, back = _path(rtt_s, 0, 0)
    bucket = TokenBucket(rate_bps, round(rate_bps / 8 * dice.uniform(0.1, 0.4)))
    transfer = Transfer(seconds=6, payload_bytes=_ENDLESS_BYTES)
    return _labelled(name, ("token_bucket",), (replace(forward, token_bucket=bucket), back), transfer, dice)


def _stalled(dice: random.Random, name: str, *, receives: bool) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.008, 0.05), dice.uniform(15e6, 30e6)
    path = _path(rtt_s, rate_bps, round(2 * rate_bps / 8 * max(rtt_s, 0.02)))
    stalls = Stalls(0.4, 1.2, 0.25, 0.8)
    wanted = StalledGuest(name, *path, stalls, dice.randrange(1 << 31), guest_receives=receives)
    return Labelled(name, ("host_stall",), lambda folder: gap_runs.run_stalled_guest(wanted, folder), "cubic, guest")


def _stalled_sender(dice: random.Random, name: str) -> Labelled:
    return _stalled(dice, name, receives=False)


def _stalled_receiver(dice: random.Random, name: str) -> Labelled:
    return _stalled(dice, name, receives=True)


_QUOTAS = (0.1, 0.15, 0.2)
_THROTTLED = 0.5
"""A guest that its quota stops for less of the time may be as fast as the path."""


def _quota(dice: random.Random, name: str, *, receives: bool) -> Labelled:
    rtt_s, rate_bps = _rtt_s(dice, 0.008, 0.06), dice.uniform(15e6, 30e6)
    path = _path(rtt_s, rate_bps, round(rate_bps / 8 * max(rtt_s, 0.02)))
    share = dice.choice(_QUOTAS)
    seed = dice.randrange(1 << 31)
    wanted = StalledGuest(name, *path, Stalls(1, 2, 0.1, 0.2), seed, guest_receives=receives, quota_share=share)

    def run(folder: Path) -> Made | None:
        made = gap_runs.run_stalled_guest(wanted, folder)
        return made if gap_runs.throttled_s(folder) >= _THROTTLED * wanted.seconds else None

    return Labelled(name, ("host_stall",), run, f"cubic, guest with {share:.0%} of a processor")


def _quota_sender(dice: random.Random, name: str) -> Labelled:
    return _quota(dice, name, receives=False)


def _quota_receiver(dice: random.Random, name: str) -> Labelled:
    return _quota(dice, name, receives=True)
