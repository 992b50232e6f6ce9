"""A surge by threads (Garfinkel, section 5.7 and Fig. 8): throughput of a thread, of all together, and what limits it.

A request belongs to the step in which it began. What all threads moved together in a step counts the part of each
request that lies within it. `limited_by` is `cpu` where the process or the host used nine tenths of its processors or a
quota held it; else the verdict of most bytes in the step's connections, in the words of the table `_WORDS`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.storage.knee import Knee, knee
from vmtrace.analyze.reports.storage.packet_facts import PacketFacts
from vmtrace.analyze.reports.storage.requests import DIRECTIONS, Requests
from vmtrace.analyze.reports.storage.steps import StepCost, SurgeStep

BUSY_SHARE = 0.9
THROTTLED_SHARE = 0.1
_WORDS = {
    "receiver_window": "window",
    "send_buffer": "window",
    "token_bucket": "allowance",
    "shaper": "allowance",
    "policer": "allowance",
    "bottleneck_bandwidth": "network",
    "congestion_window": "network",
    "congestion": "network",
    "loss": "network",
    "slow_start": "service",
    "application": "service",
}


@dataclass(frozen=True, slots=True)
class SurgeRow:
    """One number of threads in one direction, over all its steps."""

    threads: int
    host: str
    direction: str
    per_thread_bps: float | None
    """Mean of the requests."""
    combined_bps: float
    """Mean of the steps."""
    n: int
    steps: int
    cpu_share: float | None
    limited_by: str | None


@dataclass(frozen=True, slots=True)
class SurgeKnee:
    """Where more threads bring no more."""

    direction: str
    host: str
    knee: Knee


def surge_rows(
    requests: Requests | None, steps: Sequence[SurgeStep], facts: PacketFacts | None, host: str
) -> list[SurgeRow]:
    """By direction and threads."""
    groups: dict[tuple[str, int], list[SurgeStep]] = defaultdict(list)
    for step in steps:
        groups[step.direction, step.threads].append(step)
    return [_row(requests, found, facts, host) for _, found in sorted(groups.items())]


def knees(requests: Requests | None, steps: Sequence[SurgeStep], host: str) -> list[SurgeKnee]:
    """For each direction."""
    found = []
    for direction in DIRECTIONS:
        values: dict[int, list[float]] = defaultdict(list)
        for step in steps:
            if step.direction == direction:
                values[step.threads].append(combined_bps(requests, step))
        if values:
            found.append(SurgeKnee(direction, host, knee(values)))
    return found


def combined_bps(requests: Requests | None, step: SurgeStep) -> float:
    """Of all requests that were done, what was moved within the step, over its length."""
    length_ns = step.end_ns - step.start_ns
    if requests is None or length_ns <= 0:
        return 0.0
    there = requests.done & (requests.direction == DIRECTIONS.index(step.direction))
    start, took_ns = requests.start_ns[there], requests.duration_s[there] * 1e9
    within = np.minimum(start + took_ns, step.end_ns) - np.maximum(start, step.start_ns)
    shares = np.clip(within, 0, None) / np.maximum(took_ns, 1.0)
    return float((8 * requests.size_bytes[there] * shares).sum() / (length_ns / 1e9))


def limited_by_cpu(cost: StepCost | None) -> bool:
    """Whether processors, or a quota of them, were used up."""
    if cost is None:
        return False
    throttled = cost.throttled_s is not None and cost.throttled_s > THROTTLED_SHARE * cost.duration_s
    return throttled or max(cost.process_share or 0.0, cost.host_share or 0.0) >= BUSY_SHARE


def word_of(factor: str) -> str:
    """A verdict's factor in the words of a campaign."""
    return _WORDS.get(factor, factor.replace("_", " "))


def most(weights: Mapping[str, float]) -> str | None:
    """What has the largest weight."""
    return max(weights, key=lambda one: weights[one]) if weights else None


def _row(requests: Requests | None, steps: Sequence[SurgeStep], facts: PacketFacts | None, host: str) -> SurgeRow:
    numbers = np.array([step.number for step in steps])
    costs = [step.cost for step in steps if step.cost is not None]
    shares = [cost.process_share for cost in costs if cost.process_share is not None]
    rates, factors = np.empty(0), Counter[str]()
    if requests is not None:
        there = np.isin(requests.step, numbers)
        rates = requests.bps[there & requests.done]
        if facts is not None:
            for code in facts.factor[there]:
                if code >= 0:
                    factors[word_of(facts.factors[int(code)])] += 1
    cpu = sum(map(limited_by_cpu, costs)) > len(costs) / 2
    return SurgeRow(
        steps[0].threads,
        host,
        steps[0].direction,
        float(rates.mean()) if len(rates) else None,
        float(np.mean([combined_bps(requests, step) for step in steps])),
        len(rates),
        len(steps),
        float(np.mean(shares)) if shares else None,
        "cpu" if cpu else most(factors),
    )
