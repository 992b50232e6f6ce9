"""Transfers whose congestion control is known, since the lab set it: paths of many kinds, all numbers by dice.

Kinds in which nothing reduces a window (a small window, an application that gives little) are among them: there nothing
shows a name, and any is a guess.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from vmtrace.lab.accuracy import gap_runs
from vmtrace.lab.accuracy.gap_runs import Made
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import Impairments, TokenBucket
from vmtrace.lab.transfer import Transfer

CONTROLS = ("cubic", "reno", "bbr")
_SECONDS = 12.0
_ENDLESS_BYTES = 1 << 34
_WITHOUT_TIMESTAMPS, _WITH_IPV6, _WITH_OFFLOAD = 0.2, 0.25, 0.4


@dataclass(frozen=True, slots=True)
class Controlled:
    """A transfer by a known congestion control, and how to run it; `told` says what was drawn."""

    name: str
    kind: str
    control: str
    told: str
    run: Callable[[Path], Made | None]


def draw(seed: int, each: int) -> list[Controlled]:
    """`each` transfers of every kind by every congestion control; each transfer has its own dice."""
    return [
        _controlled(kind, control, number, random.Random(f"{seed}/{kind}/{control}/{number}"))
        for number in range(each)
        for kind in _KINDS
        for control in CONTROLS
    ]


_Drawn = tuple[Impairments, Impairments, Transfer]


def _controlled(kind: str, control: str, number: int, dice: random.Random) -> Controlled:
    forward, back, transfer = _KINDS[kind](dice)
    host = HostSettings(control, timestamps=dice.random() >= _WITHOUT_TIMESTAMPS)
    topology = Topology.OFFLOAD if dice.random() < _WITH_OFFLOAD else Topology.TUN
    name = f"{kind.replace(' ', '-')}-{control}-{number}"
    description = Scenario(
        name, name, transfer, forward, back, sender=host, receiver=HostSettings(timestamps=host.timestamps),
        topology=topology, ip_version=6 if dice.random() < _WITH_IPV6 else 4, seed=dice.randrange(1 << 31),
    )  # fmt: skip
    words = [f"{forward.delay_s * 2e3:.0f} ms"]
    words += [f"{forward.rate_bps / 1e6:.0f} Mbit/s"] if forward.rate_bps else []
    words += [f"queue {forward.queue_bytes / 1e3:.0f} kB"] if forward.rate_bps else []
    words += [f"{forward.loss:.2%} lost"] if forward.loss else []
    words += [f"bucket {forward.token_bucket.rate_bps / 1e6:.0f} Mbit/s"] if forward.token_bucket else []
    words += ["offload"] if topology is Topology.OFFLOAD else []

    def run(folder: Path) -> Made | None:
        return gap_runs.run_path(description, folder, good_enough=gap_runs.no_false_stall)

    return Controlled(name, kind, control, ", ".join(words), run)


def _ways(rtt_s: float, rate_bps: float, queue_bytes: float, loss: float = 0.0) -> tuple[Impairments, Impairments]:
    back = Impairments(delay_s=round(rtt_s * 500) / 1000)
    return replace(back, rate_bps=rate_bps, queue_bytes=round(queue_bytes), loss=loss), back


def _endless(seconds: float = _SECONDS) -> Transfer:
    return Transfer(seconds=seconds, payload_bytes=_ENDLESS_BYTES)


def _short_queue(dice: random.Random) -> _Drawn:
    rtt_s, rate_bps = dice.uniform(0.02, 0.12), dice.uniform(8e6, 30e6)
    queue_bytes = max(dice.uniform(0.2, 0.7) * rate_bps / 8 * rtt_s, 15_000)
    return *_ways(rtt_s, rate_bps, queue_bytes), _endless()


def _long_queue(dice: random.Random) -> _Drawn:
    rtt_s, rate_bps = dice.uniform(0.01, 0.05), dice.uniform(5e6, 20e6)
    queue_bytes = max(dice.uniform(1.0, 2.5) * rate_bps / 8 * rtt_s, 25_000)
    return *_ways(rtt_s, rate_bps, queue_bytes), _endless()


def _random_loss(dice: random.Random) -> _Drawn:
    rtt_s, loss = dice.uniform(0.015, 0.08), dice.uniform(0.0005, 0.006)
    return *_ways(rtt_s, 40e6, 2_000_000, loss), _endless()


def _shaper(dice: random.Random) -> _Drawn:
    rtt_s, rate_bps = dice.uniform(0.015, 0.06), dice.uniform(6e6, 20e6)
    bucket = TokenBucket(rate_bps, dice.randint(20, 80) * 1000, max(round(0.8 * rate_bps / 8 * rtt_s), 40_000))
    forward, back = _ways(rtt_s, 40e6, 1_000_000)
    return replace(forward, token_bucket=bucket), back, _endless()


def _policer(dice: random.Random) -> _Drawn:
    rtt_s, rate_bps = dice.uniform(0.015, 0.06), dice.uniform(6e6, 20e6)
    forward, back = _ways(rtt_s, 0.0, 0)
    bucket = TokenBucket(rate_bps, round(rate_bps / 8 * dice.uniform(0.05, 0.3)))
    return replace(forward, token_bucket=bucket), back, _endless()


def _small_window(dice: random.Random) -> _Drawn:
    """A few losses, and a window that is smaller than what they allow."""
    rtt_s = dice.uniform(0.02, 0.08)
    transfer = replace(_endless(8), receive_buffer_bytes=dice.choice((16_384, 32_768)))
    return *_ways(rtt_s, 40e6, 1_000_000, dice.choice((0.0, 0.002))), transfer


def _little_data(dice: random.Random) -> _Drawn:
    """An application that gives less than the path takes, over a path that loses something."""
    rtt_s = dice.uniform(0.02, 0.08)
    transfer = replace(_endless(8), write_bytes=dice.choice((6000, 15_000)), write_interval_s=dice.choice((0.02, 0.05)))
    return *_ways(rtt_s, 40e6, 1_000_000, dice.choice((0.0, 0.002))), transfer


_KINDS: dict[str, Callable[[random.Random], _Drawn]] = {
    "short queue": _short_queue,
    "long queue": _long_queue,
    "random loss": _random_loss,
    "shaper": _shaper,
    "policer": _policer,
    "small window": _small_window,
    "little data": _little_data,
}
