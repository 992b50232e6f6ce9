"""The steps of a surge or a sweep (`steps.jsonl`, docs/storage.md), as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vmtrace.analyze.read.records.fields import Count, Fields, Positive, Whole
from vmtrace.analyze.read.records.run_folder import read_lines


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step cost the host; None where it could not be read."""

    duration_s: Positive
    processors: Positive | None
    process_share: Positive | None
    host_share: Positive | None
    throttled_s: Positive | None
    disk_read_bytes: Count | None
    disk_busy_share: Positive | None
    process_cpu_s: Positive | None = None
    run_delay_s: Positive | None = None
    """Time that threads of the process waited for a processor."""


@dataclass(frozen=True, slots=True)
class SurgeStep:
    """So many threads in one direction."""

    number: int
    round: int
    threads: Whole
    direction: str
    start_ns: Whole
    end_ns: Whole
    cost: StepCost | None


@dataclass(frozen=True, slots=True)
class SweepStep:
    """One upload in parts."""

    number: int
    repeat: int
    connections: Whole
    connections_used: Count
    part_bytes: Whole
    parts: Whole
    bytes: Whole
    source: str
    merge: bool
    merge_s: Positive | None
    start_ns: Whole
    end_ns: Whole
    duration_s: Positive
    retries: Count
    outcome: str
    error_kind: str | None
    error: str | None
    dropped: Count
    cost: StepCost | None


def surge_steps(folder: Path, problems: list[str]) -> tuple[SurgeStep, ...]:
    """Of a surge; what is no step is left out and counted."""
    return tuple(read_lines(folder, "steps.jsonl", _surge_step, problems))


def sweep_steps(folder: Path, problems: list[str]) -> tuple[SweepStep, ...]:
    """Of a sweep; of two with the same number the later line counts."""
    found = {step.number: step for step in read_lines(folder, "steps.jsonl", _sweep_step, problems)}
    return tuple(found[number] for number in sorted(found))


def _surge_step(fields: Fields) -> SurgeStep:
    number, round_, direction = fields.needed("step"), fields.count("round") or 1, fields.text("direction")
    return fields.read(SurgeStep, number=number, round=round_, direction=direction or "download")


def _sweep_step(fields: Fields) -> SweepStep:
    return fields.read(
        SweepStep,
        number=fields.needed("step"),
        repeat=fields.count("repeat") or 1,
        source=fields.text("source") or "disk",
        outcome=fields.text("outcome") or "failed",
    )
