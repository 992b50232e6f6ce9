"""Transfers with stalls of a guest kernel, and of many kinds without any stall; all parameters by dice from a seed.

Without stall is whatever else makes a sender silent: applications that pause or talk in turns, windows, buffers, pacing
with BBR's quiet phases, policers and shapers, queues of a second, losses of data and acknowledgements, jitter, short
connections, and a path that holds or drops everything for a while while both hosts run.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vmtrace.lab.accuracy import gap_runs
from vmtrace.lab.accuracy.gap_runs import Made, StalledGuest
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import BurstLoss, Hold, Impairments, Spikes, TokenBucket
from vmtrace.lab.stalls import Stalls
from vmtrace.lab.transfer import Kind, Transfer

Run = Callable[[Path], Made | None]
_Kind = tuple[Impairments, Impairments, Transfer, str]
_ENDLESS_BYTES = 1 << 34
_SEGMENT_BYTES = 1448


def draw(seed: int, each: int) -> dict[str, Run]:
    """By name: `each` transfers with a guest that sends, as many with one that receives, one of every other kind."""
    dice = random.Random(f"{seed}/stalls and none")
    found: dict[str, Run] = {}
    for receives in (False, True):
        for number in range(each):
            name = f"guest-{'receives' if receives else 'sends'}-{number}"
            found[name] = _guest(dice, name, receives=receives)
    for maker in _WITHOUT:
        name = maker.__name__[1:].replace("_", "-")
        found[name] = _without(dice, name, maker(dice))
    return found


def _guest(dice: random.Random, name: str, *, receives: bool) -> Run:
    rtt_s, rate_bps = dice.uniform(0.006, 0.08), dice.uniform(12e6, 28e6)
    queue_bytes = round(dice.uniform(0.8, 2) * rate_bps / 8 * max(rtt_s, 0.02))
    data = Impairments(delay_s=rtt_s / 2, rate_bps=rate_bps, queue_bytes=queue_bytes, loss=dice.choice((0, 0, 0.001)))
    shortest_s = dice.uniform(0.1, 0.4)
    stalls = Stalls(0.5, 1.2, shortest_s, shortest_s + dice.uniform(0.2, 0.5))
    wanted = StalledGuest(
        name,
        data,
        Impairments(delay_s=rtt_s / 2),
        stalls,
        dice.randrange(1 << 31),
        seconds=10.0,
        guest_receives=receives,
    )
    return lambda folder: gap_runs.run_sound_stalled_guest(wanted, folder)


def _without(dice: random.Random, name: str, kind: _Kind) -> Run:
    forward, reverse, transfer, congestion_control = kind
    host = HostSettings(congestion_control)
    description = Scenario(name, name, transfer, forward, reverse, host, host, seed=dice.randrange(1 << 31))
    return lambda folder: gap_runs.run_path(description, folder, good_enough=gap_runs.no_false_stall)


def _path(rtt_s: float, rate_bps: float, queue_bytes: int = 4_000_000) -> tuple[Impairments, Impairments]:
    back = Impairments(delay_s=rtt_s / 2)
    return replace(back, rate_bps=rate_bps, queue_bytes=queue_bytes), back


def _bulk(seconds: float = 5.0, receive_buffer_bytes: int = 0) -> Transfer:
    return Transfer(seconds=seconds, payload_bytes=_ENDLESS_BYTES, receive_buffer_bytes=receive_buffer_bytes)


def _loss_based(dice: random.Random) -> str:
    return dice.choice(("cubic", "reno"))


def _pauses_after_full_segments(dice: random.Random) -> _Kind:
    every = round(dice.uniform(200, 500)) * _SEGMENT_BYTES
    pauses = tuple((number * every, dice.uniform(0.15, 0.9)) for number in range(1, 7))
    transfer = Transfer(seconds=9, payload_bytes=7 * every, write_bytes=_SEGMENT_BYTES * 4, write_pauses=pauses)
    return *_path(dice.uniform(0.01, 0.06), dice.uniform(15e6, 30e6), 300_000), transfer, _loss_based(dice)


def _pauses_anywhere(dice: random.Random) -> _Kind:
    pauses = tuple((round(number * dice.uniform(3e5, 5e5)), dice.uniform(0.15, 0.9)) for number in range(1, 7))
    transfer = Transfer(seconds=9, payload_bytes=3_500_000, write_pauses=tuple(sorted(pauses)))
    return *_path(dice.uniform(0.01, 0.06), dice.uniform(15e6, 30e6), 300_000), transfer, _loss_based(dice)


def _small_writes(dice: random.Random) -> _Kind:
    transfer = Transfer(
        seconds=4,
        payload_bytes=_ENDLESS_BYTES,
        write_bytes=round(dice.uniform(300, 30_000)),
        write_interval_s=dice.uniform(0.03, 0.3),
    )
    return *_path(dice.uniform(0.01, 0.08), 25e6), transfer, _loss_based(dice)


def _turns(dice: random.Random) -> _Kind:
    transfer = Transfer(
        Kind.EXCHANGE,
        seconds=8,
        exchanges=round(dice.uniform(15, 30)),
        request_bytes=round(dice.uniform(100, 3000)),
        response_bytes=round(dice.uniform(5_000, 200_000)),
        think_s=dice.uniform(0.05, 0.2),
    )
    return *_path(dice.uniform(0.01, 0.06), 30e6), transfer, _loss_based(dice)


def _short_ones(dice: random.Random) -> _Kind:
    transfer = Transfer(seconds=8, payload_bytes=round(dice.uniform(15e3, 90e3)), rounds=12, round_gap_s=0.1)
    return *_path(dice.uniform(0.02, 0.1), 20e6, 60_000), transfer, _loss_based(dice)


def _small_window(dice: random.Random) -> _Kind:
    return *_path(dice.uniform(0.04, 0.15), 40e6), _bulk(4, round(dice.uniform(1e4, 6e4))), _loss_based(dice)


def _slow_reader(dice: random.Random) -> _Kind:
    pauses = tuple((number * 400_000, dice.uniform(0.2, 0.9)) for number in range(1, 6))
    transfer = Transfer(seconds=8, payload_bytes=2_400_000, receive_buffer_bytes=80_000, read_pauses=pauses)
    return *_path(dice.uniform(0.01, 0.06), 25e6, 300_000), transfer, _loss_based(dice)


def _small_send_buffer(dice: random.Random) -> _Kind:
    transfer = replace(_bulk(4), send_buffer_bytes=round(dice.uniform(20e3, 60e3)), write_bytes=_SEGMENT_BYTES)
    return *_path(dice.uniform(0.04, 0.12), 30e6), transfer, _loss_based(dice)


def _bbr_with_probe_rtt(dice: random.Random) -> _Kind:
    rate_bps, rtt_s = dice.uniform(8e6, 20e6), dice.uniform(0.02, 0.06)
    return *_path(rtt_s, rate_bps, round(2 * rate_bps / 8 * rtt_s)), _bulk(14), "bbr"


def _policer(dice: random.Random) -> _Kind:
    rate_bps = dice.uniform(6e6, 15e6)
    forward, back = _path(dice.uniform(0.01, 0.05), 0, 0)
    bucket = TokenBucket(rate_bps, round(rate_bps / 8 * dice.uniform(0.05, 0.3)))
    return replace(forward, token_bucket=bucket), back, _bulk(), _loss_based(dice)


def _shaper(dice: random.Random) -> _Kind:
    rate_bps = dice.uniform(6e6, 15e6)
    forward, back = _path(dice.uniform(0.01, 0.05), 40e6, 300_000)
    bucket = TokenBucket(rate_bps, round(rate_bps / 8 * dice.uniform(0.1, 0.5)), 300_000)
    return replace(forward, token_bucket=bucket), back, _bulk(), _loss_based(dice)


def _bloated_queue(dice: random.Random) -> _Kind:
    rate_bps = dice.uniform(4e6, 9e6)
    return *_path(dice.uniform(0.02, 0.05), rate_bps, round(rate_bps / 8)), _bulk(7), _loss_based(dice)


def _losses(dice: random.Random) -> _Kind:
    forward, back = _path(dice.uniform(0.005, 0.08), 20e6, 90_000)
    return replace(forward, loss=dice.uniform(0.005, 0.05)), back, _bulk(), _loss_based(dice)


def _losses_in_bursts(dice: random.Random) -> _Kind:
    forward, back = _path(dice.uniform(0.005, 0.08), 20e6, 90_000)
    return replace(forward, burst_loss=BurstLoss(0.002, dice.uniform(0.05, 0.2))), back, _bulk(), _loss_based(dice)


def _lost_acknowledgements(dice: random.Random) -> _Kind:
    forward, back = _path(dice.uniform(0.005, 0.08), 20e6, 90_000)
    return replace(forward, loss=0.005), replace(back, loss=dice.uniform(0.1, 0.4)), _bulk(), _loss_based(dice)


def _spikes(dice: random.Random) -> _Kind:
    forward, back = _path(dice.uniform(0.02, 0.06), 20e6, 200_000)
    spikes = Spikes(0.001, dice.uniform(0.1, 0.3))
    return replace(forward, spikes=spikes), replace(back, spikes=spikes), _bulk(), _loss_based(dice)


def _held(dice: random.Random, ways: str, *, drop: bool) -> _Kind:
    rtt_s, rate_bps = dice.uniform(0.01, 0.06), dice.uniform(12e6, 28e6)
    holds = tuple(Hold(start_s, dice.uniform(0.1, 0.6), drop) for start_s in (1.2, 2.6, 4.0))
    forward, back = _path(rtt_s, rate_bps, round(2 * rate_bps / 8 * max(rtt_s, 0.02)))
    return (
        replace(forward, holds=holds if ways != "back" else ()),
        replace(back, holds=holds if ways != "there" else ()),
        _bulk(6),
        _loss_based(dice),
    )


def _held_there(dice: random.Random) -> _Kind:
    return _held(dice, "there", drop=False)


def _held_back(dice: random.Random) -> _Kind:
    return _held(dice, "back", drop=False)


def _held_both_ways(dice: random.Random) -> _Kind:
    return _held(dice, "both", drop=False)


def _black_there(dice: random.Random) -> _Kind:
    return _held(dice, "there", drop=True)


def _black_back(dice: random.Random) -> _Kind:
    return _held(dice, "back", drop=True)


def _black_both_ways(dice: random.Random) -> _Kind:
    return _held(dice, "both", drop=True)


def _held_on_a_wide_path(dice: random.Random) -> _Kind:
    """No bottleneck: what the path held comes all at once, as it would from a host that wakes."""
    holds = tuple(Hold(start_s, dice.uniform(0.1, 0.5)) for start_s in (1.2, 2.2, 3.2))
    forward, back = _path(dice.uniform(0.01, 0.05), 0, 0)
    return replace(forward, holds=holds), back, _bulk(4.5, round(dice.uniform(4e4, 9e4))), _loss_based(dice)


_WITHOUT: tuple[Callable[[random.Random], _Kind], ...] = (
    _pauses_after_full_segments,
    _pauses_anywhere,
    _small_writes,
    _turns,
    _short_ones,
    _small_window,
    _slow_reader,
    _small_send_buffer,
    _bbr_with_probe_rtt,
    _policer,
    _shaper,
    _bloated_queue,
    _losses,
    _losses_in_bursts,
    _lost_acknowledgements,
    _spikes,
    _held_there,
    _held_back,
    _held_both_ways,
    _black_there,
    _black_back,
    _black_both_ways,
    _held_on_a_wide_path,
)
