"""The steps of a surge or a sweep (`steps.jsonl`, docs/storage.md), as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vmtrace.analyze.read.records.fields import FieldError, Fields
from vmtrace.analyze.read.records.run_folder import read_lines


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step cost the host; None where it could not be read."""

    duration_s: float
    processors: float | None
    process_share: float | None
    host_share: float | None
    throttled_s: float | None
    disk_read_bytes: int | None
    disk_busy_share: float | None
    process_cpu_s: float | None = None
    run_delay_s: float | None = None
    """Time that threads of the process waited for a processor."""


@dataclass(frozen=True, slots=True)
class SurgeStep:
    """So many threads in one direction."""

    number: int
    round: int
    threads: int
    direction: str
    start_ns: int
    end_ns: int
    cost: StepCost | None


@dataclass(frozen=True, slots=True)
class SweepStep:
    """One upload in parts."""

    number: int
    repeat: int
    connections: int
    connections_used: int
    part_bytes: int
    parts: int
    bytes: int
    source: str
    merge: bool
    merge_s: float | None
    start_ns: int
    end_ns: int
    duration_s: float
    retries: int
    outcome: str
    error_kind: str | None
    error: str | None
    dropped: int
    cost: StepCost | None


def surge_steps(folder: Path, problems: list[str]) -> tuple[SurgeStep, ...]:
    """Of a surge; what is no step is left out and counted."""
    return tuple(read_lines(folder, "steps.jsonl", _surge_step, problems))


def sweep_steps(folder: Path, problems: list[str]) -> tuple[SweepStep, ...]:
    """Of a sweep; of two with the same number the later line counts."""
    found = {step.number: step for step in read_lines(folder, "steps.jsonl", _sweep_step, problems)}
    return tuple(found[number] for number in sorted(found))


def _surge_step(fields: Fields) -> SurgeStep:
    return SurgeStep(
        _whole(fields, "step"),
        fields.count("round") or 1,
        _whole(fields, "threads"),
        fields.text("direction") or "download",
        _whole(fields, "start_ns"),
        _whole(fields, "end_ns"),
        _cost(fields.part("cost")),
    )


def _sweep_step(fields: Fields) -> SweepStep:
    return SweepStep(
        number=_whole(fields, "step"),
        repeat=fields.count("repeat") or 1,
        connections=_whole(fields, "connections"),
        connections_used=fields.count("connections_used") or 0,
        part_bytes=_whole(fields, "part_bytes"),
        parts=_whole(fields, "parts"),
        bytes=_whole(fields, "bytes"),
        source=fields.text("source") or "disk",
        merge=fields.flag("merge") is True,
        merge_s=fields.amount("merge_s"),
        start_ns=_whole(fields, "start_ns"),
        end_ns=_whole(fields, "end_ns"),
        duration_s=fields.amount("duration_s") or 0.0,
        retries=fields.count("retries") or 0,
        outcome=fields.text("outcome") or "failed",
        error_kind=fields.text("error_kind"),
        error=fields.text("error"),
        dropped=fields.count("dropped") or 0,
        cost=_cost(fields.part("cost")),
    )


def _cost(fields: Fields | None) -> StepCost | None:
    if fields is None:
        return None
    return StepCost(
        fields.amount("duration_s") or 0.0,
        fields.amount("processors"),
        fields.amount("process_share"),
        fields.amount("host_share"),
        fields.amount("throttled_s"),
        fields.count("disk_read_bytes"),
        fields.amount("disk_busy_share"),
        fields.amount("process_cpu_s"),
        fields.amount("run_delay_s"),
    )


def _whole(fields: Fields, name: str) -> int:
    value = fields.count(name, 2**63 - 1)
    if value is None:
        raise FieldError(str(fields.wrong(name, "a whole number")))
    return value
