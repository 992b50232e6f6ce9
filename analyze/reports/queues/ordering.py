"""The order of delivery against the order of sending: first deliveries, by the response that brought them.

A message is out of order if one came before it whose send call began after its own had ended (RFC 4737, section 3, with
send calls that overlap taken as unordered). Displacement is the distance between its ranks in the two orders. Kendall's
tau is 1 for the same order, 0 for none, -1 for the reverse.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.queues.calls import Ints
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.records import Stage

_PERCENTILES = (50, 90, 99, 100)


@dataclass(frozen=True, slots=True)
class OrderRow:
    """Of the messages of one stage that sends, or of all such stages of the run (`stage` None)."""

    stage: int | None
    n: int
    out_of_order: int
    out_of_order_share: float | None
    tau: float | None
    displacement_p50: int | None
    displacement_p90: int | None
    displacement_p99: int | None
    displacement_max: int | None
    fifo_violations: int | None
    """Of a FIFO queue: messages that came before an earlier one of their group; None of others."""
    batched: bool
    """Several messages at once, or several senders: their order by number is that of due times, not of arrival."""


def order_rows(messages: Messages) -> Iterator[OrderRow]:
    """Of the run, and of each stage where several send."""
    stages = [stage for stage in messages.run.stages if stage.messages]
    if len(stages) != 1:
        yield _of_stages(messages, stages, None)
    for stage in stages:
        yield _row(messages, stage)


def _row(messages: Messages, stage: Stage) -> OrderRow:
    return _of_stages(messages, [stage], stage.number)


def _of_stages(messages: Messages, stages: list[Stage], number: int | None) -> OrderRow:
    """Stages follow each other: pairs of messages of different stages are not compared."""
    parts = [_came(messages, stage) for stage in stages]
    starts, ends = messages.of_number("start_ns"), messages.of_number("end_ns")
    n = sum(map(len, parts))
    late = sum(int(out_of_order(starts[came], ends[came]).sum()) for came in parts)
    pairs = sum(len(came) * (len(came) - 1) // 2 for came in parts)
    swapped = sum(inversions(_ranks(came)) for came in parts)
    moved = np.concatenate([*map(displacements, parts), np.empty(0, np.int64)])
    p50, p90, p99, most = (int(np.percentile(moved, q, method="inverted_cdf")) if n else None for q in _PERCENTILES)
    groups = messages.of_number("group")
    return OrderRow(
        stage=number,
        n=n,
        out_of_order=late,
        out_of_order_share=late / n if n else None,
        tau=1 - 2 * swapped / pairs if pairs else None,
        displacement_p50=p50,
        displacement_p90=p90,
        displacement_p99=p99,
        displacement_max=most,
        fifo_violations=sum(fifo_violations(came, groups[came]) for came in parts) if messages.run.fifo else None,
        batched=any(map(_is_batched, stages)),
    )


def _is_batched(stage: Stage) -> bool:
    return stage.send_batch > 1 or stage.senders > 1


def _came(messages: Messages, stage: Stage) -> Ints:
    """Numbers of a stage's messages in the order of their first delivery; only those whose send is in the logs."""
    numbers = messages.first["number"]
    own = (numbers >= stage.first_message) & (numbers < stage.first_message + stage.messages)
    own &= messages.of_number("start_ns")[numbers] >= 0
    came: Ints = numbers[own]
    return came


def out_of_order(start_ns: Ints, end_ns: Ints) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    """Of messages in the order in which they came: which came after one that was sent when their call was over."""
    if not len(start_ns):
        return np.zeros(0, np.bool_)
    latest = np.maximum.accumulate(start_ns)
    late = np.zeros(len(start_ns), np.bool_)
    late[1:] = latest[:-1] > end_ns[1:]
    return late


def displacements(came: Ints) -> Ints:
    """How far each message's place in the order of coming is from that in the order of numbers."""
    moved: Ints = np.abs(_ranks(came) - np.arange(len(came), dtype=np.int64))
    return moved


def _ranks(came: Ints) -> Ints:
    ranks = np.empty(len(came), np.int64)
    ranks[np.argsort(came, kind="stable")] = np.arange(len(came), dtype=np.int64)
    return ranks


def inversions(ranks: Ints) -> int:
    """Pairs in the wrong order, of a permutation of 0 to n - 1; in O(n log n), bit by bit from the highest."""
    count, values = 0, ranks
    for bit in reversed(range(max(len(ranks) - 1, 1).bit_length())):
        # Within those that agree in all higher bits, each one before a zero is a pair in the wrong order.
        group, ones = values >> (bit + 1), (values >> bit) & 1
        before = np.cumsum(ones) - ones
        starts = np.concatenate([[True], group[1:] != group[:-1]]) if len(group) else np.empty(0, np.bool_)
        at_start = np.maximum.accumulate(np.where(starts, before, 0)) if len(group) else before
        count += int((before - at_start)[ones == 0].sum())
        values = values[np.argsort(values >> bit, kind="stable")]
    return count


def fifo_violations(came: Ints, groups: Ints) -> int:
    """Messages that came when a later one of their group was there already."""
    found = 0
    for group in np.unique(groups):
        own = came[groups == group]
        found += int((own[1:] < np.maximum.accumulate(own)[:-1]).sum())
    return found
