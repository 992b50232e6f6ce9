"""What limited the steps of a surge or sweep, from their packets and from what they cost the process itself.

In this order: a rate that data comes at again and again, while the path held connections back (`allowance` or
`network`, with that rate); processors (`cpu`); else what held connections back for most of the time: `window`,
`network`, the `service` (waits for its response), the `client` (waits between requests), the `application` (pauses of
the program that sends), `slow start`. What is neither is None. Slow start and pauses of a program are not the service.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.reports.storage.step_evidence import BIN_NS, StepEvidence
from vmtrace.analyze.reports.storage.steps import StepCost
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.units import share, si

BUSY_SHARE = 0.9
THROTTLED_SHARE = 0.1
NEAR = 0.04
"""How far from its rate a bin may be."""
LEAST_AT_RATE = 0.25
"""Of the bytes; with fewer a rate is found by chance."""
LEAST_AT_OTHERS_RATE = 0.12
"""Where other numbers of threads in the same direction come at the same rate."""
_FEWEST_BINS = 25
_LEAST_OF_TIME = 0.5
_BURST_BYTES = 25_000
"""And what the rate brings in a bin: packets that were put together on the way come as one."""
_PAUSE_BINS = 2
_WIDTHS = (4, 12, 20)
"""Of bins, in those of the evidence."""
_BURST_BINS = 60
_FEWEST_PAUSES = 3
_WORDS = {
    "receiver_window": "window",
    "application_window": "window",
    "http2_window": "window",
    "send_buffer": "window",
    "token_bucket": "allowance",
    "bottleneck_bandwidth": "network",
    "congestion_window": "network",
    "loss_recovery": "network",
    "timeout_wait": "network",
    "path_outage": "network",
    "sack_not_agreed": "network",
    "path_mtu": "network",
    "ack_path_full": "network",
    "server_wait": "service",
    "expect_continue": "service",
    "client_wait": "client",
    "application": "application",
    "nagle_delayed_ack": "application",
    "slow_start": "slow start",
    "setup": "slow start",
    "host_stall": "host",
}
_PATH = ("network", "allowance")
_OWN = ("client", "application", "host")
"""What a process that waits for a processor does to its connections."""
_SENTENCES = {
    "window": "windows were full",
    "network": "the path held connections back",
    "allowance": "an allowance held connections back",
    "service": "connections waited for responses",
    "client": "connections waited for requests of this program",
    "application": "the program that sends paused",
    "slow start": "connections opened and began slowly",
    "host": "a host stalled",
}


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A rate that data came at again and again."""

    bps: float
    bytes_share: float
    """That came at it."""
    time_share: float
    """Of all time, pauses included."""
    burst_bytes: float | None
    """What came faster after pauses, at the median; None without pauses."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What limited one number of threads or connections in one direction."""

    word: str | None
    bps: float | None
    sentence: str
    time_share: float | None = None
    """Of the time in which connections were held back."""


NO_CAUSE = Cause(None, None, "undecided: neither packets nor counters name one")


def used_up(cost: StepCost) -> bool:
    """Whether this process used its processors up, or was kept from them by a quota."""
    throttled = cost.throttled_s is not None and cost.throttled_s > THROTTLED_SHARE * cost.duration_s
    return throttled or (cost.process_share or 0.0) >= BUSY_SHARE


def waited_for(cost: StepCost, workers: int) -> bool:
    """Whether threads of this process ran or waited for a processor all the time.

    Other people's load counts as far as it made them wait (`run_delay_s`), and only where packets show nothing else:
    on a loaded machine threads wait each time that data comes.
    """
    return (wanted_share(cost, workers) or 0.0) >= BUSY_SHARE


def wanted_share(cost: StepCost, workers: int) -> float | None:
    """Time that threads of the process ran or waited for a processor, over that of the processors they may use."""
    if cost.run_delay_s is None or cost.process_cpu_s is None or not cost.processors or cost.duration_s <= 0:
        return None
    return (cost.run_delay_s + cost.process_cpu_s) / (cost.duration_s * min(cost.processors, max(1, workers)))


def ceiling(steps: Sequence[StepEvidence], at_bps: float | None = None) -> Ceiling | None:
    """The rate of most bytes in bins of steps alike, or `at_bps`; None where too few bytes came at it.

    Acknowledgements come in lumps: of uploads wider bins are looked at, too.
    """
    widths = _WIDTHS if any(one.acknowledged for one in steps) else _WIDTHS[:1]
    found = [one for width in widths if (one := _ceiling(steps, width, at_bps)) is not None]
    return max(found, key=lambda one: one.bytes_share, default=None)


def _ceiling(steps: Sequence[StepEvidence], width: int, at_bps: float | None = None) -> Ceiling | None:
    bins = [one.bins_bytes[: len(one.bins_bytes) // width * width].reshape(-1, width).sum(axis=1) for one in steps]
    rates = np.concatenate([np.zeros(0), *bins]) * 8e9 / (width * BIN_NS)
    steady = np.sort(rates[(rates > 0) & _beside_its_like(rates)])
    if np.count_nonzero(rates) < _FEWEST_BINS or not len(steady):
        return None
    sums = np.concatenate([[0.0], np.cumsum(steady)])
    candidates = steady if at_bps is None else np.array([at_bps])
    low, high = (np.searchsorted(steady, candidates * (1 + sign * NEAR)) for sign in (-1, 1))
    within = sums[high] - sums[low]
    best = int(within.argmax())
    bytes_share = float(within[best] / rates.sum())
    if bytes_share < (LEAST_AT_RATE if at_bps is None else LEAST_AT_OTHERS_RATE):
        return None
    rate = float(steady[low[best] : high[best]].mean())
    bins_there = int(high[best] - low[best])
    # Acknowledgements that a repair held up come all at once, and look like a burst.
    arrived = [one.bins_bytes for one in steps if len(one.bins_bytes) and not one.acknowledged]
    return Ceiling(rate, bytes_share, bins_there / len(rates), _burst_bytes(arrived, rate))


def _beside_its_like(rates: Floats) -> NDArray[np.bool_]:
    """Bins with one of about the same rate right before or behind: an object alone in its bin has no rate."""
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.abs(rates[1:] / rates[:-1] - 1) <= 2 * NEAR
    found: NDArray[np.bool_] = np.concatenate([[False], alike]) | np.concatenate([alike, [False]])
    return found


def cause(
    evidence: Sequence[StepEvidence], costs: Sequence[StepCost], workers: int, others: Ceiling | None = None
) -> Cause:
    """Of all steps alike, with so many threads. `others`: that of most other numbers of threads in this direction."""
    held = held_back(evidence)
    total = sum(held.values())
    path = sum(held[word] for word in _PATH)
    is_path = path > held["window"] and 2 * path > held["service"]
    found = ceiling(evidence) if is_path else None
    if found is None and others is not None and is_path:
        found = ceiling(evidence, others.bps)
    if found is not None and others is not None and _is_near(found.bps, others.bps):
        found = replace(found, burst_bytes=max(found.burst_bytes or 0.0, others.burst_bytes or 0.0))
    without = _most(map(used_up, costs))
    if found is not None and not (without and found.time_share < _LEAST_OF_TIME):
        return _at_rate(found, held, path / total)
    word, time_s = max(held.items(), key=lambda one: one[1], default=("", 0.0))
    waits = _most(waited_for(cost, workers) for cost in costs) and (time_s <= _LEAST_OF_TIME * total or word in _OWN)
    if without or waits:
        return Cause("cpu", None, cpu_sentence(costs))
    if not total:
        return NO_CAUSE
    if time_s <= _LEAST_OF_TIME * total:
        most = ", ".join(f"{one} {share(seconds / total)}" for one, seconds in held.most_common(3))
        return Cause(None, None, f"undecided: {most} of the time")
    closed_s = sum(one.closed_s for one in evidence)
    if word == "window" and closed_s >= _LEAST_OF_TIME * time_s:
        return Cause("service", None, f"the service did not read: its windows were closed for {closed_s:.1f} s")
    return Cause(word, None, f"{_SENTENCES.get(word, word)} for {share(time_s / total)} of the time", time_s / total)


def _most(facts: Iterable[bool]) -> bool:
    known = list(facts)
    return sum(known) > len(known) / 2


def common(ceilings: Iterable[Ceiling | None]) -> Ceiling | None:
    """What most of several numbers of threads come at; None where they do not agree."""
    known = sorted((one for one in ceilings if one is not None), key=lambda one: one.bps)
    if len(known) < 2:
        return None
    middle = known[len(known) // 2]
    near = [one for one in known if _is_near(one.bps, middle.bps)]
    if len(near) <= len(known) / 2:
        return None
    return replace(middle, burst_bytes=max((one.burst_bytes or 0.0 for one in near), default=0.0))


def _is_near(one_bps: float, other_bps: float) -> bool:
    return abs(one_bps - other_bps) <= NEAR * other_bps


def held_back(evidence: Iterable[StepEvidence]) -> Counter[str]:
    """Seconds by word; what is idle or unknown holds nothing back."""
    held: Counter[str] = Counter()
    for one in evidence:
        for factor, seconds in one.seconds.items():
            if factor in _WORDS:
                held[_WORDS[factor]] += seconds
    return held


def cpu_sentence(costs: Sequence[StepCost]) -> str:
    """How much the process used, wanted and was refused."""
    used = _mean([cost.process_share for cost in costs]) or 0.0
    delay_s = sum(cost.run_delay_s or 0.0 for cost in costs)
    throttled_s = sum(cost.throttled_s or 0.0 for cost in costs)
    waited = f", its threads waited for one for {delay_s:.1f} s" if delay_s >= 0.05 else ""
    held = f", held by its quota for {throttled_s:.1f} s" if throttled_s else ""
    return f"processors: the process used {share(used)} of what it may{waited}{held}"


def _at_rate(found: Ceiling, held: Counter[str], path_share: float) -> Cause:
    rate = si(found.bps, "bit/s")
    bursts = found.burst_bytes is not None and found.burst_bytes >= max(_BURST_BYTES, found.bps * BIN_NS / 8e9)
    if held["allowance"] > held["network"] or bursts:
        burst = f", and {si(found.burst_bytes, 'B')} more at once after pauses" if bursts else ""
        sentence = f"an allowance of {rate}: {share(found.bytes_share)} of the bytes came at it{burst}"
        return Cause("allowance", found.bps, sentence, path_share)
    return Cause("network", found.bps, f"the path at {rate}: {share(found.bytes_share)} of the bytes came at it",
                 path_share)  # fmt: skip


def _burst_bytes(bins: Sequence[Floats], rate_bps: float) -> float | None:
    """The most that came beyond the rate soon after pauses of two bins or more, at the median over these.

    That is the largest sum of neighbouring bins less what the rate allows them: a connection may begin slowly. Pauses
    with little between them show nothing: as those of slow start.
    """
    allowed = rate_bps * BIN_NS / 8e9
    found = []
    for one in bins:
        busy = one > 0.02 * allowed
        quiet = np.convolve(~busy, np.ones(_PAUSE_BINS), "full")[: len(one)] >= _PAUSE_BINS
        starts = np.flatnonzero(quiet[:-1] & busy[1:]) + 1
        for start, next_start in pairwise([*starts, len(one)]):
            moved = one[start : min(start + _BURST_BINS, next_start)]
            if moved.sum() >= 2 * _BURST_BYTES:
                sums = np.concatenate([[0.0], np.cumsum(moved - allowed)])
                found.append(float((sums - np.minimum.accumulate(sums)).max()))
    return float(np.median(found)) if len(found) >= _FEWEST_PAUSES else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
