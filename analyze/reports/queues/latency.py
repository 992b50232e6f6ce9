"""Send-to-receive latency of flow stages: from when a message was due, and from when its send call began.

To the arrival of the response that delivered the message first. From the due time it holds what an open system would
feel: a sender that is late, or kept by the service, does not hide the wait (no coordinated omission). Messages that
waited over a break of the run (sent in one session, received in another) are counted and left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.reports.queues.calls import Ints
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.quantiles import Quantiles, quantiles
from vmtrace.analyze.reports.queues.records import FLOW, Stage
from vmtrace.analyze.tables.schema.typed import FLAT, one_of

DUE, SENT = "due", "sent"
Floats = NDArray[np.float64]
_CLOCK_ERROR_S = 0.001


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Of one stage, or of all flow stages together (`stage` None), from one of the two times."""

    stage: int | None
    from_: Annotated[str, one_of(DUE, SENT)]
    reason: str | None
    """Why there is none."""
    left_out_over_break: int
    left_out_negative: int
    """Received before they were sent, by the clock: it was stepped."""
    quantiles: Annotated[Quantiles, FLAT]


@dataclass(frozen=True, slots=True)
class Times:
    """First deliveries: when each came, seconds since the epoch's ns in `end_ns`, and its latencies."""

    end_ns: Ints
    due_s: Floats
    """NaN where nothing was due."""
    sent_s: Floats
    over_break: int


def times_of(messages: Messages, stage: Stage) -> Times:
    """The first deliveries of a stage's own messages."""
    first = messages.first
    own = (first["number"] >= stage.first_message) & (first["number"] < stage.first_message + stage.messages)
    sent_in = messages.of_number("session")[first["number"]]
    broken = own & (sent_in >= 0) & (sent_in != first["session"])
    kept = own & ~broken
    end_ns, due_ns, sent_ns = (first[name][kept] for name in ("end_ns", "due_ns", "sent_ns"))
    due_s = (end_ns - due_ns).astype(np.float64) / 1e9
    due_s[due_ns == 0] = np.nan
    return Times(end_ns, due_s, (end_ns - sent_ns).astype(np.float64) / 1e9, int(broken.sum()))


def latency_rows(messages: Messages) -> Iterator[LatencyRow]:
    """Both kinds for each flow stage, and for all together where there are several."""
    stages = [stage for stage in messages.run.stages if stage.kind == FLOW]
    found = [(stage, times_of(messages, stage)) for stage in stages]
    groups: list[tuple[int | None, list[Times]]] = [(stage.number, [times]) for stage, times in found]
    if len(found) != 1:
        groups.insert(0, (None, [times for _, times in found]))
    for number, some in groups:
        for name in (DUE, SENT):
            yield _row(number, name, some)


def _row(stage: int | None, name: str, some: list[Times]) -> LatencyRow:
    values = np.concatenate([*(one.due_s if name == DUE else one.sent_s for one in some), np.empty(0)])
    there = values[np.isfinite(values)]
    kept = there[there >= 0]
    reason = None
    if not len(kept):
        reason = "as fast as possible: nothing was due at a set time" if len(values) else "no message was delivered"
    over_break, negative = sum(one.over_break for one in some), len(there) - len(kept)
    return LatencyRow(stage, name, reason, over_break, negative, quantiles(kept))


def clock_error_s(messages: Messages) -> float | None:
    """How far the clock strayed while latencies were measured with it, if that is worth a word."""
    moved_s = messages.run.clock_moved_s
    return moved_s if moved_s is not None and moved_s > _CLOCK_ERROR_S else None


@dataclass(frozen=True, slots=True)
class LatenessRow:
    """How late send calls began, at a rate.

    `due`: after the last message of the batch was due. `free`: after the sender was also through with its last call,
    which is the scheduler's share alone.
    """

    stage: int
    after: Annotated[str, one_of("due", "free")]
    quantiles: Annotated[Quantiles, FLAT]


def lateness_rows(messages: Messages) -> Iterator[LatenessRow]:
    """Of each stage that had a rate."""
    rows = messages.sent_rows
    for stage in messages.run.stages:
        if stage.rate_per_s is None or not stage.messages:
            continue
        own = (rows["number"] >= stage.first_message) & (rows["number"] < stage.first_message + stage.messages)
        for after, name in (("due", "last_due_ns"), ("free", "ready_ns")):
            late_s = (rows["start_ns"][own] - rows[name][own]).astype(np.float64) / 1e9
            yield LatenessRow(stage.number, after, quantiles(np.maximum(late_s, 0.0)))
