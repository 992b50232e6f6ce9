"""Messages per second in and out of each stage, for each process ("thread" in the study) and all together.

From the beginning of a process's first call to the end of its last that moved a message. At a set rate this is the rate
that was kept; as fast as possible, what client, path and service together allow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.queues.calls import COLLECTOR, DELETE, OPERATIONS, RECEIVE, SEND, Calls, ProcessLog
from vmtrace.analyze.reports.queues.quantiles import Quantiles, quantiles
from vmtrace.analyze.reports.queues.records import QueueRun, Stage
from vmtrace.analyze.tables.schema.typed import FLAT


@dataclass(frozen=True, slots=True)
class RateRow:
    """One operation of one stage."""

    stage: int
    operation: str
    batch: int
    """Most messages in a call, by the plan."""
    threads: int
    """Processes."""
    messages: int
    seconds: float | None
    messages_per_s: float | None
    per_thread_messages_per_s: tuple[float, ...]
    messages_per_call: float | None
    """Of calls that moved any."""
    set_rate_per_s: float | None


@dataclass(frozen=True, slots=True)
class CallRow:
    """Times and troubles of one operation's calls in one stage."""

    stage: int
    operation: str
    calls: int
    failed: int
    empty: int | None
    """Receive calls that returned nothing; None of others."""
    requests: int
    retries: int
    retry_causes: dict[str, int]
    errors: dict[str, int]
    refused: dict[str, int]
    """Messages that the service refused, one by one, by its code."""
    foreign: int | None
    """Deliveries of messages that are not of this run; None of other operations."""
    quantiles: Annotated[Quantiles, FLAT]


def logs_of(run: QueueRun, stage: Stage) -> list[ProcessLog]:
    """Of a stage's own processes."""
    return [log for log in run.logs if log.stage == stage.number and log.role != COLLECTOR]


def rate_rows(run: QueueRun) -> Iterator[RateRow]:
    """A row for each operation of each stage that moved a message."""
    for stage in run.stages:
        logs = logs_of(run, stage)
        for operation in OPERATIONS:
            moved = [calls for log in logs if len((calls := log.calls[operation]).start_ns)]
            spans = [span for calls in moved if (span := _span(calls)) is not None]
            if spans:
                yield _row(stage, operation, spans, moved)


def _row(stage: Stage, operation: str, spans: Sequence[tuple[int, int, int]], moved: Sequence[Calls]) -> RateRow:
    messages = sum(count for _, _, count in spans)
    seconds = (max(end for _, end, _ in spans) - min(start for start, _, _ in spans)) / 1e9
    busy = sum(int((np.array(calls.messages, np.int64) > 0).sum()) for calls in moved)
    batch = {SEND: stage.send_batch, RECEIVE: stage.receive_batch, DELETE: stage.delete_batch}[operation]
    return RateRow(
        stage=stage.number,
        operation=operation,
        batch=batch,
        threads=len(spans),
        messages=messages,
        seconds=seconds,
        messages_per_s=messages / seconds if seconds > 0 else None,
        per_thread_messages_per_s=tuple(count / ((end - start) / 1e9) for start, end, count in spans if end > start),
        messages_per_call=messages / busy if busy else None,
        set_rate_per_s=stage.rate_per_s if operation == SEND else None,
    )


def _span(calls: Calls) -> tuple[int, int, int] | None:
    """First beginning, last end, and messages, of a process's calls that moved any."""
    messages = np.array(calls.messages, np.int64)
    busy = np.flatnonzero(messages > 0)
    if not len(busy):
        return None
    return calls.start_ns[int(busy[0])], calls.end_ns[int(busy[-1])], int(messages.sum())


def call_rows(run: QueueRun) -> Iterator[CallRow]:
    """A row for each operation of each stage that was called."""
    for stage in run.stages:
        logs = logs_of(run, stage)
        for operation in OPERATIONS:
            found = [calls for log in logs if len((calls := log.calls[operation]).start_ns)]
            if found:
                yield _call_row(stage, operation, found)


def _call_row(stage: Stage, operation: str, found: Sequence[Calls]) -> CallRow:
    receives = operation == RECEIVE
    empty = sum(
        int(((np.array(one.messages, np.int64) == 0) & (np.array(one.failed, np.int8) == 0)).sum()) for one in found
    )
    causes = _summed(one.retry_causes for one in found)
    return CallRow(
        stage=stage.number,
        operation=operation,
        calls=sum(len(one.start_ns) for one in found),
        failed=sum(sum(one.failed) for one in found),
        empty=empty if receives else None,
        requests=sum(one.requests for one in found),
        retries=sum(causes.values()),
        retry_causes=causes,
        errors=_summed(one.errors for one in found),
        refused=_summed(one.refused for one in found),
        foreign=sum(one.foreign for one in found) if receives else None,
        quantiles=quantiles(np.concatenate([one.durations_s() for one in found])),
    )


def _summed(counters: Iterator[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for counter in counters:
        for name, count in counter.items():
            found[name] = found.get(name, 0) + count
    return found


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process: memory of its own at its start and at most, and its share of a processor."""

    stage: int
    session: int
    role: str
    place: int
    start_bytes: int | None
    most_bytes: int | None
    cpu_share: float | None
    waited_share: float | None
    """Of its time that it waited for the backlog to shrink."""


def process_rows(run: QueueRun) -> Iterator[ProcessRow]:
    """A row for each process that reported what it used."""
    for log in run.logs:
        if not log.uses:
            continue
        resident = [use.resident_bytes for use in log.uses]
        last = log.uses[-1]
        yield ProcessRow(
            log.stage,
            log.session,
            log.role,
            log.place,
            resident[0],
            max(resident),
            last.cpu_s / last.wall_s if last.wall_s else None,
            last.waited_s / last.wall_s if last.wall_s else None,
        )
