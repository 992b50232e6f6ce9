"""Where the time of a message goes, from its due time to the response that delivered it first.

Every nanosecond is in one part, so the parts of a message sum to its latency. Messages that waited over a break of the
run, came before they were sent by the clock, or whose send is not in the log have no parts.
"""

from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.queues.calls import Ints
from vmtrace.analyze.reports.queues.messages import Flags, Messages
from vmtrace.analyze.reports.queues.records import FLOW

LATE, SENDING, QUEUED, RECEIVING = "late_sending", "send_call", "in_queue", "receive_call"
PARTS = {
    LATE: "before the send call began",
    SENDING: "send call",
    QUEUED: "in the queue",
    RECEIVING: "receive call",
}
"""Each part with its name, in order."""


@dataclass(frozen=True, slots=True)
class TimeParts:
    """The messages of all flow stages together."""

    messages: int
    seconds: dict[str, float]
    """By part, over all messages."""

    @property
    def total_s(self) -> float:
        """All parts."""
        return sum(self.seconds.values())


def time_parts_of(messages: Messages) -> TimeParts:
    """From when each message was due, or else from when its send call began.

    `in_queue` is the time in which the service held the message and no call that would deliver it was open;
    `receive_call` begins with that call, or with the end of the send if that was later.
    """
    first = messages.first
    numbers, sent_ns, received_ns = first["number"], first["sent_ns"], first["end_ns"]
    acknowledged_ns = messages.of_number("end_ns")[numbers]
    due_ns = np.where(first["due_ns"] > 0, np.minimum(first["due_ns"], sent_ns), sent_ns)
    held_ns = np.clip(acknowledged_ns, sent_ns, np.maximum(sent_ns, received_ns))
    opened_ns = np.clip(first["start_ns"], held_ns, np.maximum(held_ns, received_ns))
    kept = _of_flow(messages, numbers) & (acknowledged_ns >= 0) & (sent_ns <= received_ns)
    kept &= messages.of_number("session")[numbers] == first["session"]
    ends = (due_ns, sent_ns, held_ns, opened_ns, received_ns)
    between = zip(PARTS, ends[:-1], ends[1:], strict=True)
    return TimeParts(int(kept.sum()), {name: float((end - begin)[kept].sum()) / 1e9 for name, begin, end in between})


def _of_flow(messages: Messages, numbers: Ints) -> Flags:
    """Which of these messages belong to stages that send and receive at once."""
    found = np.zeros(len(numbers), np.bool_)
    for stage in messages.run.stages:
        if stage.kind == FLOW:
            found |= (numbers >= stage.first_message) & (numbers < stage.first_message + stage.messages)
    return found
