"""Messages that were delivered more than once, by cause.

A delivery hides a message for the visibility timeout. One that comes after it is due to a deletion that was late, or
failed: `after_visibility`. One that comes within it is the service's own: `within_visibility`; so is one of a message
whose deletion the service had acknowledged in time: `after_deletion`.

The service hands a message out somewhere within the receive call; its response is the best known time of that. Two that
are a timeout apart may be so less the time that the first response took: a second is allowed for, and never more than a
tenth of the timeout.
"""

from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.queues.calls import Ints, joined
from vmtrace.analyze.reports.queues.messages import Messages

_MOST_SLACK_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class DuplicateRow:
    """Of a run: deliveries beyond the first of each message."""

    after_visibility: int
    within_visibility: int
    after_deletion: int
    messages: int
    """That were delivered more than once."""
    most_deliveries: int
    late_deletions: int
    """Messages whose first deletion was acknowledged only after the visibility timeout, or never."""


def duplicate_row(messages: Messages) -> DuplicateRow:
    """Classify all repeated deliveries."""
    rows = messages.deliveries
    order = np.lexsort((np.arange(len(rows["number"])), rows["number"]))
    numbers, ends_ns, stages = (rows[name][order] for name in ("number", "end_ns", "stage"))
    again = np.flatnonzero(numbers[1:] == numbers[:-1]) + 1
    deleted_ns = _first_deletion(messages)
    visible_ns = _visibility_ns(messages, stages[again - 1])
    gaps_ns = ends_ns[again] - ends_ns[again - 1]
    slack_ns = np.minimum(_MOST_SLACK_NS, visible_ns // 10)
    gone_ns = deleted_ns[numbers[again]]
    deleted = (gone_ns >= 0) & (gone_ns < ends_ns[again]) & (gone_ns < ends_ns[again - 1] + visible_ns)
    # A delivery that left the service before the deletion arrived there was under way, and is no such thing.
    deleted &= rows["start_ns"][order][again] > gone_ns
    after = ~deleted & (gaps_ns >= visible_ns - slack_ns)
    counts = np.bincount(numbers, minlength=1)
    return DuplicateRow(
        after_visibility=int(after.sum()),
        within_visibility=int((~deleted & ~after).sum()),
        after_deletion=int(deleted.sum()),
        messages=int((counts > 1).sum()),
        most_deliveries=int(counts.max()),
        late_deletions=_late_deletions(messages, deleted_ns),
    )


def _first_deletion(messages: Messages) -> Ints:
    """When the service acknowledged the first deletion of each message; -1 for never."""
    found = np.full(messages.count, -1, np.int64)
    rows = [log.deleted for log in messages.run.logs]
    numbers, ends_ns = joined(rows, "number"), joined(rows, "end_ns")
    latest_first = np.argsort(-ends_ns, kind="stable")
    numbers, ends_ns = numbers[latest_first], ends_ns[latest_first]
    inside = numbers < messages.count
    found[numbers[inside]] = ends_ns[inside]
    return found


def _visibility_ns(messages: Messages, stages: Ints) -> Ints:
    """Of the deliveries that these stages made."""
    times = {stage.number: round(stage.visibility_s * 1e9) for stage in messages.run.stages}
    return np.array([times.get(int(number), 0) for number in stages], np.int64)


def _late_deletions(messages: Messages, deleted_ns: Ints) -> int:
    first = messages.first
    hidden_until = first["end_ns"] + _visibility_ns(messages, first["stage"])
    gone_ns = deleted_ns[first["number"]]
    return int(((gone_ns < 0) | (gone_ns > hidden_until)).sum())
