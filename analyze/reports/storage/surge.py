"""A surge by threads (Garfinkel, section 5.7 and Fig. 8): throughput of a thread, of all together, and what limits it.

A request belongs to the step in which it began. What all threads moved together in a step counts the part of each
request that lies within it. What limited a row is judged by `causes` from the packets of its own steps and direction.
Threads are those that request; the connections that they used are counted apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.storage.causes import Ceiling, cause, ceiling, common
from vmtrace.analyze.reports.storage.knee import Knee, knee
from vmtrace.analyze.reports.storage.requests import DIRECTIONS, Requests
from vmtrace.analyze.reports.storage.step_evidence import StepEvidence
from vmtrace.analyze.reports.storage.steps import SurgeStep


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
    limit_bps: float | None = None
    """Of an allowance, or of the path."""
    sentence: str = ""
    connections: float | None = None
    """That requests of a step used, at the mean."""


@dataclass(frozen=True, slots=True)
class SurgeKnee:
    """Where more threads bring no more."""

    direction: str
    host: str
    knee: Knee


def surge_rows(
    requests: Requests | None, steps: Sequence[SurgeStep], evidence: Mapping[int, StepEvidence], host: str
) -> list[SurgeRow]:
    """By direction and threads."""
    groups: dict[tuple[str, int], list[SurgeStep]] = defaultdict(list)
    for step in steps:
        groups[step.direction, step.threads].append(step)
    rows = []
    for key, found in sorted(groups.items()):
        others = [
            ceiling([evidence[step.number] for step in alike if step.number in evidence])
            for other, alike in groups.items()
            if other[0] == key[0] and other != key
        ]
        rows.append(_row(requests, found, evidence, host, common(others)))
    return rows


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


def ports_of(requests: Requests, step: SurgeStep) -> frozenset[int]:
    """That requests of a step were sent from."""
    return frozenset(int(port) for port in np.unique(requests.local_port[requests.step == step.number]) if port > 0)


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


def _row(
    requests: Requests | None,
    steps: Sequence[SurgeStep],
    evidence: Mapping[int, StepEvidence],
    host: str,
    others: Ceiling | None,
) -> SurgeRow:
    numbers = np.array([step.number for step in steps])
    costs = [step.cost for step in steps if step.cost is not None]
    shares = [cost.process_share for cost in costs if cost.process_share is not None]
    rates, connections = np.empty(0), list[int]()
    if requests is not None:
        rates = requests.bps[np.isin(requests.step, numbers) & requests.done]
        connections = [len(ports_of(requests, step)) for step in steps]
    found = cause([evidence[step.number] for step in steps if step.number in evidence], costs, steps[0].threads, others)
    return SurgeRow(
        steps[0].threads,
        host,
        steps[0].direction,
        float(rates.mean()) if len(rates) else None,
        float(np.mean([combined_bps(requests, step) for step in steps])),
        len(rates),
        len(steps),
        float(np.mean(shares)) if shares else None,
        found.word,
        found.bps,
        found.sentence,
        float(np.mean(connections)) if any(connections) else None,
    )
