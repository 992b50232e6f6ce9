"""A sweep of uploads in parts: throughput by connections, part size and source, its knee, merges, and the bottleneck.

The bottleneck of a step is read off counters and packets, in this order: the service refused; the processors were used
up; the disk was busy, or the same step from memory is faster by a third; fewer connections than asked for; else what
the packets of the step say (`causes`). What nothing speaks for is `undecided`. `connections` are those asked for: so
many threads the SDK uploads with. Those that came about are counted apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.causes import Ceiling, cause, ceiling, common
from vmtrace.analyze.reports.storage.knee import Knee, knee
from vmtrace.analyze.reports.storage.step_evidence import StepEvidence
from vmtrace.analyze.reports.storage.steps import SweepStep
from vmtrace.analyze.tables.schema.typed import bounds
from vmtrace.analyze.words.units import si
from vmtrace.formats.quantities import plural

DISK, MEMORY = "disk", "tmpfs"
BUSY_DISK_SHARE = 0.9
FASTER = 1.33
_FEWER = 0.5
Key = tuple[str, int, int]
"""Source, bytes of a part, connections."""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One cell of the sweep."""

    connections: int
    part_bytes: Annotated[int, bounds(minimum=1)]
    source: str
    bps: float | None
    """Mean of the uploads that were done."""
    cpu_share: float | None
    """Of the processors that the process may use."""
    n: int
    failed: int
    host_cpu_share: float | None
    disk_read_bps: float | None
    disk_busy_share: float | None
    connections_used: float | None
    retries: int
    bottleneck: str
    """disk, connections, undecided, or a word of `causes`."""
    sentence: str
    limit_bps: float | None = None
    """Of an allowance, or of the path."""


@dataclass(frozen=True, slots=True)
class SweepKnee:
    """Where more connections bring no more."""

    part_bytes: int
    source: str
    knee: Knee


@dataclass(frozen=True, slots=True)
class MergeRow:
    """How long the service took to make one object of so many parts."""

    parts: int
    seconds: float
    n: int


def sweep_rows(steps: Sequence[SweepStep], evidence: Mapping[int, StepEvidence]) -> list[SweepRow]:
    """By source, part size and connections; `evidence` by the number of the step."""
    groups = _groups(steps)
    rates = {key: _mean_bps(found) for key, found in groups.items()}
    judged = {
        key: [evidence[step.number] for step in found if step.number in evidence] for key, found in groups.items()
    }
    rates_seen = {key: ceiling(found) for key, found in judged.items()}
    return [
        _row(key, found, rates, judged[key], common(rate for other, rate in rates_seen.items() if other != key))
        for key, found in sorted(groups.items())
    ]


def sweep_knee_rows(steps: Sequence[SweepStep]) -> list[SweepKnee]:
    """For each part size and source."""
    curves: dict[tuple[int, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (source, part_bytes, connections), found in _groups(steps).items():
        curves[part_bytes, source][connections] += [_bps(one) for one in found if one.outcome == "done"]
    return [SweepKnee(part_bytes, source, knee(curve)) for (part_bytes, source), curve in sorted(curves.items())]


def merge_rows(steps: Sequence[SweepStep]) -> list[MergeRow]:
    """Medians by the number of parts; also of uploads that were not made for it."""
    times: dict[int, list[float]] = defaultdict(list)
    for step in steps:
        if step.merge_s is not None and step.outcome == "done":
            times[step.parts].append(step.merge_s)
    return [MergeRow(parts, float(np.median(found)), len(found)) for parts, found in sorted(times.items())]


def _groups(steps: Sequence[SweepStep]) -> dict[Key, list[SweepStep]]:
    groups: dict[Key, list[SweepStep]] = defaultdict(list)
    for step in steps:
        if not step.merge:
            groups[step.source, step.part_bytes, step.connections].append(step)
    return groups


def _bps(step: SweepStep) -> float:
    return 8 * step.bytes / step.duration_s if step.duration_s > 0 else 0.0


def _mean_bps(steps: Sequence[SweepStep]) -> float | None:
    rates = [_bps(step) for step in steps if step.outcome == "done"]
    return float(np.mean(rates)) if rates else None


def _row(
    key: Key,
    steps: Sequence[SweepStep],
    rates: Mapping[Key, float | None],
    evidence: Sequence[StepEvidence],
    others: Ceiling | None,
) -> SweepRow:
    source, part_bytes, connections = key
    costs = [step.cost for step in steps if step.cost is not None]
    done = [step for step in steps if step.outcome == "done"]
    reads = [
        8 * cost.disk_read_bytes / cost.duration_s
        for cost in costs
        if cost.disk_read_bytes is not None and cost.duration_s > 0
    ]
    word, sentence, limit_bps = _bottleneck(key, steps, rates, evidence, others)
    return SweepRow(
        connections,
        part_bytes,
        source,
        rates[key],
        _mean([cost.process_share for cost in costs]),
        len(done),
        len(steps) - len(done),
        _mean([cost.host_share for cost in costs]),
        float(np.mean(reads)) if reads else None,
        _mean([cost.disk_busy_share for cost in costs]),
        _mean([float(step.connections_used) for step in done]),
        sum(step.retries for step in steps),
        word,
        sentence,
        limit_bps,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _bottleneck(
    key: Key,
    steps: Sequence[SweepStep],
    rates: Mapping[Key, float | None],
    evidence: Sequence[StepEvidence],
    others: Ceiling | None,
) -> tuple[str, str, float | None]:
    source, _, connections = key
    failed = [step for step in steps if step.outcome != "done"]
    if len(failed) == len(steps):
        why = failed[-1].error or failed[-1].error_kind or "without a word"
        return "service", f"the service refused: {why}", None
    costs = [step.cost for step in steps if step.cost is not None]
    found = cause(evidence, costs, connections, others)
    if found.word == "cpu":
        return "cpu", found.sentence, None
    disk = _disk_sentence(key, costs_busy=_mean([cost.disk_busy_share for cost in costs]), rates=rates)
    if source == DISK and disk is not None:
        return "disk", disk, None
    used = _mean([float(step.connections_used) for step in steps if step.outcome == "done"])
    parts = steps[0].parts
    if found.bps is None and used is not None and used < _FEWER * min(connections, parts):
        return "connections", f"only {used:.0f} of {connections} connections came about", None
    if found.bps is None and parts < connections:
        return "connections", f"{parts} parts keep no more than {parts} of {connections} connections busy", None
    if retries := sum(step.retries for step in steps):
        return "service", f"the service: {plural(retries, 'request')} had to be made again", None
    return found.word or "undecided", found.sentence, found.bps


def _disk_sentence(key: Key, *, costs_busy: float | None, rates: Mapping[Key, float | None]) -> str | None:
    source, part_bytes, connections = key
    own, memory = rates.get(key), rates.get((MEMORY, part_bytes, connections))
    if source != DISK:
        return None
    if costs_busy is not None and costs_busy >= BUSY_DISK_SHARE:
        return f"disk: it was busy for {costs_busy:.0%} of the time"
    if own and memory and memory >= FASTER * own:
        rates_text = f"{si(memory, 'bit/s')} from memory against {si(own, 'bit/s')}"
        return f"disk: {rates_text} with all else the same"
    return None
