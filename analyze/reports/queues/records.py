"""A queue run as its folder describes it: the plan's stages, how each went, and round trips."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from vmtrace.analyze.read.records.fields import Count, Fields, Positive
from vmtrace.analyze.read.records.service_run import ServiceRun
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.queues.calls import ProcessLog
from vmtrace.analyze.tables.schema.typed import one_of

PUT, TAKE, FLOW = "put", "take", "flow"
SENDS, RECEIVES, BOTH = "send", "receive", "both"
_MOST_MESSAGES = 100_000_000
_MOST_ROUNDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the plan, with the repeat already counted in: `number` from 1."""

    number: int
    name: str
    kind: Annotated[str, one_of(PUT, TAKE, FLOW)]
    first_message: int
    messages: Count
    rate_per_s: Positive | None
    size_bytes: int
    send_batch: int
    receive_batch: int
    delete_batch: int
    senders: int
    receivers: int
    deleters: int
    visibility_s: Positive
    wait_s: Positive
    backlog: Count


@dataclass(frozen=True, slots=True)
class StageEnd:
    """How a stage went in one session: a line of `stages.jsonl`."""

    stage: Count
    session: int
    status: str
    error: str | None
    begin_ns: int | None
    end_ns: int | None
    capture_file: str | None
    capture_start_ns: int | None
    capture_end_ns: int | None
    capture_dropped: int | None
    capture_written: int | None


@dataclass(frozen=True, slots=True)
class QueueRun(ServiceRun):
    """One run."""

    provider: str
    region: str | None
    location: str | None
    endpoint: str | None
    queue: str | None
    fifo: bool
    half: str | None
    """`SENDS` or `RECEIVES`, where two hosts made a run together, and `BOTH` for what they made."""
    sdk: str | None
    plan: str | None
    start_ns: int | None
    sessions: int
    stages: tuple[Stage, ...]
    ends: tuple[StageEnd, ...]
    logs: tuple[ProcessLog, ...]
    round_trips_s: tuple[float, ...]
    """TCP handshakes and ICMP echoes to the front ends, before stages."""
    collected: bool
    """The queue was emptied after the last stage: what was not found is not there."""
    clock_moved_s: Positive | None
    left_behind: int
    currency: str | None
    prices: str | None
    charges: Mapping[str, float] | None
    used: Mapping[str, int]
    problems: tuple[str, ...]
    window: Window = ALL_TIME

    @property
    def messages(self) -> int:
        """Of the whole plan."""
        return sum(stage.messages for stage in self.stages)

    def stage(self, number: int) -> Stage | None:
        """By number."""
        return self.stages[number - 1] if 1 <= number <= len(self.stages) else None


def stages_of(plan: Fields) -> tuple[Stage, ...]:
    """All rounds of the plan's stages; raises `FieldError`."""
    found: list[Stage] = []
    first = 0
    repeat = plan.count("repeat", _MOST_ROUNDS) or 1
    parts = plan.parts("stages")
    if len(parts) * repeat > _MOST_ROUNDS:
        raise plan.wrong("repeat", f"at most {_MOST_ROUNDS:,} stages")
    for _ in range(repeat):
        for part in parts:
            stage = _stage(part, len(found) + 1, first)
            first += stage.messages
            if first > _MOST_MESSAGES:
                raise plan.wrong("stages", f"of at most {_MOST_MESSAGES:,} messages")
            found.append(stage)
    return tuple(found)


def _stage(part: Fields, number: int, first: int) -> Stage:
    kind = part.text("kind")
    if kind not in {PUT, TAKE, FLOW}:
        raise part.wrong("kind", "put, take or flow")

    once = ("size_bytes", "send_batch", "receive_batch", "delete_batch", "senders", "receivers", "deleters")
    ones = {name: part.count(name) or 1 for name in once}
    return part.read(
        Stage, number=number, name=part.text("name") or str(number), kind=kind, first_message=first, **ones
    )


def stage_end(line: Fields) -> StageEnd:
    """A line of `stages.jsonl`; raises `FieldError`."""
    session, status = line.count("session") or 1, line.text("status") or "failed"
    capture = line.capture("start_ns", "end_ns", "dropped", "written")
    return line.read(StageEnd, session=session, status=status, **capture)
