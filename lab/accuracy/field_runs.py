"""Transfers as people report them from networks of their own: the factor by construction, all numbers by dice.

Kinds that the plain ones of `verdict_runs` leave out: a window that is full because the path is, a bottleneck with
next to no queue under BBR, a send buffer over a long round trip, a policer whose bucket runs empty in slow start of a
long path, a queue that CoDel manages, a processor's quota, and what a short transfer loses at its start or at its end.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from vmtrace.lab.accuracy import gap_runs
from vmtrace.lab.accuracy.gap_runs import Made, StalledGuest
from vmtrace.lab.accuracy.verdict_runs import Labelled, over_a_path
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import CoDel, Impairments, TokenBucket
from vmtrace.lab.stalls import Stalls
from vmtrace.lab.transfer import Transfer

_SEGMENT_BYTES = 1448
_ENDLESS_BYTES = 1 << 34
_WITHOUT_TIMESTAMPS, _WITH_IPV6, _WITH_OFFLOAD = 0.25, 0.25, 0.3
_LOSSES = ("congestion_window", "loss_recovery", "timeout_wait")
_LEAST_STOPPED = 0.25
_FIRST_DATA = 2
"""Packets of the sender of data before that: SYN and the handshake's ACK."""

_Maker = Callable[[random.Random, str], Labelled]


def draw(seed: int, each: int) -> list[Labelled]:
    """`each` transfers of every kind; each kind has its own dice."""
    return [maker(random.Random(f"{seed}/{name}/{number}"), f"{name}-{number}") for name, maker in _makers().items()
            for number in range(each)]  # fmt: skip


def _makers() -> dict[str, _Maker]:
    return {
        "window_filled_by_the_path": _window_filled_by_the_path,
        "bbr_few_packets": _bbr_few_packets,
        "buffer_long_way": _buffer_long_way,
        "policer_long_way": _policer_long_way,
        "shared_path": _shared_path,
        "heavy_loss": _heavy_loss,
        "first_syn_lost": _first_syn_lost,
        "short_tail_lost": _short_tail_lost,
        "short_then_closed": _short_then_closed,
        "quota": _quota,
        "managed_queue": _managed_queue,
    }


def _ways(rtt_s: float, rate_bps: float, queue_bytes: float, loss: float = 0.0) -> tuple[Impairments, Impairments]:
    back = Impairments(delay_s=round(rtt_s * 500) / 1000)
    return replace(back, rate_bps=rate_bps, queue_bytes=round(queue_bytes), loss=loss), back


def _labelled(
    name: str,
    factors: tuple[str, ...],
    ways: tuple[Impairments, Impairments],
    transfer: Transfer,
    dice: random.Random,
    *congestion_controls: str,
    plain: bool = False,
    sysctls: Mapping[str, str] | None = None,
) -> Labelled:
    """With all that should not matter drawn; `plain` where single packets are chosen: IPv4, every one a segment."""
    host = HostSettings(
        dice.choice(congestion_controls or ("cubic", "reno")),
        timestamps=dice.random() >= _WITHOUT_TIMESTAMPS,
        sysctls=sysctls or {},
    )
    description = Scenario(
        name, name, transfer, *ways, sender=host, receiver=host,
        topology=Topology.OFFLOAD if not plain and dice.random() < _WITH_OFFLOAD else Topology.TUN,
        ip_version=6 if not plain and dice.random() < _WITH_IPV6 else 4, seed=dice.randrange(1 << 31),
    )  # fmt: skip
    words = [host.congestion_control, f"{ways[0].delay_s * 2e3:.0f} ms"]
    words += [f"{ways[0].rate_bps / 1e6:.0f} Mbit/s"] if ways[0].rate_bps else []
    words += [("marks" if ways[0].codel.marks else "drops")] if ways[0].codel else []
    words += [] if host.timestamps else ["no timestamps"]
    return over_a_path(description, factors, words)


def _window_filled_by_the_path(dice: random.Random, name: str) -> Labelled:
    """The window holds more than the path without its queue, and less than both: the queue fills it."""
    rtt_s, rate_bps = dice.uniform(0.02, 0.06), dice.uniform(6e6, 25e6)
    path_bytes = rate_bps / 8 * rtt_s
    # The kernel doubles what it is asked for and advertises about half of that.
    window_bytes = round(path_bytes * dice.uniform(2.0, 4.0))
    transfer = Transfer(seconds=6, payload_bytes=_ENDLESS_BYTES, receive_buffer_bytes=max(window_bytes, 60_000))
    ways = _ways(rtt_s, rate_bps, 20 * path_bytes + 400_000)
    return _labelled(name, ("bottleneck_bandwidth",), ways, transfer, dice, "cubic", "reno")


def _bbr_few_packets(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = dice.uniform(0.02, 0.08), dice.uniform(8e6, 30e6)
    ways = _ways(rtt_s, rate_bps, dice.randint(6, 14) * 1500)
    transfer = Transfer(seconds=6, payload_bytes=_ENDLESS_BYTES)
    return _labelled(name, ("bottleneck_bandwidth",), ways, transfer, dice, "bbr")


def _buffer_long_way(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = dice.uniform(0.15, 0.25), dice.uniform(40e6, 80e6)
    transfer = Transfer(
        seconds=7, payload_bytes=_ENDLESS_BYTES, send_buffer_bytes=dice.choice((16_384, 32_768, 65_536)),
        write_bytes=dice.choice((1448, 4096, 8192)),
    )  # fmt: skip
    return _labelled(name, ("send_buffer",), _ways(rtt_s, rate_bps, 4_000_000), transfer, dice)


def _policer_long_way(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = dice.uniform(0.1, 0.18), dice.uniform(6e6, 15e6)
    forward, back = _ways(rtt_s, 0.0, 0)
    bucket = TokenBucket(rate_bps, round(rate_bps / 8 * dice.uniform(0.15, 0.4)))
    transfer = Transfer(seconds=9, payload_bytes=_ENDLESS_BYTES)
    return _labelled(name, ("token_bucket",), (replace(forward, token_bucket=bucket), back), transfer, dice)


def _managed_queue(dice: random.Random, name: str) -> Labelled:
    """CoDel drops, or marks, now and then: the window that it leaves is a little too small for the link for a while."""
    rtt_s, rate_bps, marks = dice.choice((0.02, 0.05, 0.07, 0.1)), dice.uniform(8e6, 40e6), dice.random() < 0.5
    forward, back = _ways(rtt_s, rate_bps, 2_000_000)
    transfer = Transfer(seconds=10, payload_bytes=_ENDLESS_BYTES)
    ways, ecn = (replace(forward, codel=CoDel(marks=marks)), back), {"net.ipv4.tcp_ecn": "1"} if marks else {}
    return _labelled(name, ("bottleneck_bandwidth",), ways, transfer, dice, "reno", "reno", "cubic", sysctls=ecn)


def _shared_path(dice: random.Random, name: str) -> Labelled:
    """Several connections fill one path: each has its part of it."""
    rtt_s, rate_bps = dice.uniform(0.01, 0.04), dice.uniform(20e6, 40e6)
    transfer = Transfer(seconds=6, payload_bytes=_ENDLESS_BYTES, parallel=dice.randint(3, 6))
    ways = _ways(rtt_s, rate_bps, 1.5 * rate_bps / 8 * rtt_s + 60_000)
    return _labelled(name, ("bottleneck_bandwidth", "congestion_window"), ways, transfer, dice, "cubic", "reno", "bbr")


def _heavy_loss(dice: random.Random, name: str) -> Labelled:
    ways = _ways(dice.uniform(0.02, 0.1), 50e6, 2_000_000, dice.uniform(0.02, 0.06))
    transfer = Transfer(seconds=8, payload_bytes=_ENDLESS_BYTES)
    return _labelled(name, _LOSSES, ways, transfer, dice)


def _first_syn_lost(dice: random.Random, name: str) -> Labelled:
    forward, back = _ways(dice.uniform(0.01, 0.08), 50e6, 1_000_000)
    transfer = Transfer(seconds=4, payload_bytes=_SEGMENT_BYTES * dice.randint(15, 200))
    ways = (replace(forward, drop_packets=(0,)), back)
    is_of_syn_ack = dice.random() < 0.5
    if is_of_syn_ack:
        ways = (forward, replace(back, drop_packets=(0,)))
    labelled = _labelled(name, ("setup",), ways, transfer, dice, "cubic", "reno", "bbr", plain=True)
    # Behind the place where a SYN is lost the opening looks like any other.
    return labelled if is_of_syn_ack else replace(labelled, places=("sender",))


def _short_tail_lost(dice: random.Random, name: str) -> Labelled:
    """The last segments of the first window are lost, with the FIN behind them: only a timer repeats them."""
    segments, lost = dice.randint(7, 10), dice.randint(1, 2)
    forward, back = _ways(dice.uniform(0.01, 0.04), 50e6, 1_000_000)
    gone = tuple(range(_FIRST_DATA + segments - lost, _FIRST_DATA + segments + 1))
    transfer = Transfer(seconds=4, payload_bytes=_SEGMENT_BYTES * segments, write_bytes=_SEGMENT_BYTES * segments)
    ways = (replace(forward, drop_packets=gone), back)
    return _labelled(name, ("timeout_wait",), ways, transfer, dice, plain=True)


def _short_then_closed(dice: random.Random, name: str) -> Labelled:
    """A short transfer, and a reader that then does not read for seconds: the window closes and stays closed."""
    forward, back = _ways(dice.uniform(0.01, 0.06), 50e6, 1_000_000)
    read_bytes = dice.randint(40, 120) * 1000
    transfer = Transfer(
        seconds=9, payload_bytes=read_bytes + 600_000, receive_buffer_bytes=65_536,
        read_pauses=((read_bytes, dice.uniform(2.5, 5.0)),),
    )  # fmt: skip
    return _labelled(name, ("receiver_window",), (forward, back), transfer, dice)


def _quota(dice: random.Random, name: str) -> Labelled:
    rtt_s, rate_bps = dice.uniform(0.008, 0.04), dice.uniform(15e6, 30e6)
    ways = _ways(rtt_s, rate_bps, 2 * rate_bps / 8 * max(rtt_s, 0.02))
    wanted = StalledGuest(
        name, *ways, Stalls(1.0, 1.0, 1.0, 1.0), dice.randrange(1 << 31), guest_receives=dice.random() < 0.5,
        quota_share=dice.choice((0.1, 0.15, 0.2)),
    )  # fmt: skip
    words = f"quota of {wanted.quota_share:.0%}, {'receives' if wanted.guest_receives else 'sends'}"
    return Labelled(name, ("host_stall",), lambda folder: _stopped_by_its_quota(wanted, folder), words)


def _stopped_by_its_quota(wanted: StalledGuest, folder: Path) -> Made | None:
    """None where other work on the machine left the guest so little that the quota hardly stopped it."""
    made = gap_runs.run_stalled_guest(wanted, folder)
    stopped_s = float(json.loads((folder / gap_runs.QUOTA).read_text())["stopped_s"])
    return made if stopped_s >= _LEAST_STOPPED * wanted.seconds else None
