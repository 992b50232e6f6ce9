"""Each message of a run: when it was sent, when and how often it was delivered, when it was deleted.

Columns over all messages of the plan, by number. What the collector found after the run was not delivered in it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.reports.queues.calls import COLLECTOR, REFUSED, TAKEN, Ints, joined
from vmtrace.analyze.reports.queues.records import QueueRun

Flags = NDArray[np.bool_]


@dataclass
class Messages:
    """All messages of a run."""

    run: QueueRun

    @property
    def count(self) -> int:
        """Of the plan."""
        return self.run.messages

    def flags(self, numbers: Ints) -> Flags:
        """For each message of the plan, whether it is among these; others are left out."""
        found = np.zeros(self.count, np.bool_)
        found[numbers[numbers < self.count]] = True
        return found

    @cached_property
    def wanted(self) -> Flags:
        """Those that the report is about: of the whole plan, or those that were sent in the window."""
        return self.attempted if self.run.window else np.ones(self.count, np.bool_)

    @cached_property
    def attempted(self) -> Flags:
        """That a sender began to send."""
        return self.flags(np.concatenate([*(np.array(log.attempted, np.int64) for log in self.run.logs), _NONE]))

    @cached_property
    def sent_rows(self) -> dict[str, Ints]:
        """All sends, in order of their number."""
        rows = [log.sent for log in self.run.logs]
        names = ("number", "due_ns", "last_due_ns", "start_ns", "end_ns", "outcome", "ready_ns")
        columns = {name: joined(rows, name) for name in names}
        sessions = [np.full(len(log.sent), log.session, np.int64) for log in self.run.logs]
        groups = [np.full(len(log.sent), log.place, np.int64) for log in self.run.logs]
        columns["session"] = np.concatenate([*sessions, _NONE])
        columns["group"] = np.concatenate([*groups, _NONE])
        order = np.argsort(columns["number"], kind="stable")
        inside = columns["number"][order] < self.count
        return {name: column[order][inside] for name, column in columns.items()}

    @cached_property
    def taken(self) -> Flags:
        """That the service acknowledged."""
        return self.flags(self.sent_rows["number"][self.sent_rows["outcome"] == TAKEN])

    @cached_property
    def refused(self) -> Flags:
        """That the service refused, by its own word."""
        return self.flags(self.sent_rows["number"][self.sent_rows["outcome"] == REFUSED])

    @cached_property
    def deliveries(self) -> dict[str, Ints]:
        """All deliveries to receivers and takers, in the order in which they came."""
        return self._received(collector=False)

    @cached_property
    def collected(self) -> Flags:
        """That the collector found."""
        return self.flags(self._received(collector=True)["number"])

    @cached_property
    def first(self) -> dict[str, Ints]:
        """The first delivery of each message, in the order in which they came."""
        _, places = np.unique(self.deliveries["number"], return_index=True)
        places = np.sort(places)
        return {name: column[places] for name, column in self.deliveries.items()}

    @cached_property
    def delivered(self) -> Flags:
        """At least once."""
        return self.flags(self.first["number"])

    def of_number(self, name: str, absent: int = -1) -> Ints:
        """A column of the sends for each message of the plan; a message that was never sent has `absent`."""
        found = np.full(self.count, absent, np.int64)
        found[self.sent_rows["number"]] = self.sent_rows[name]
        return found

    def _received(self, *, collector: bool) -> dict[str, Ints]:
        logs = [log for log in self.run.logs if (log.role == COLLECTOR) == collector]
        rows = [log.received for log in logs]
        names = ("number", "due_ns", "sent_ns", "start_ns", "end_ns", "position")
        columns = {name: joined(rows, name) for name in names}
        for name in ("stage", "session"):
            parts = [np.full(len(log.received), getattr(log, name), np.int64) for log in logs]
            columns[name] = np.concatenate([*parts, _NONE])
        order = np.lexsort((columns["position"], columns["end_ns"]))
        inside = columns["number"][order] < self.count
        return {name: column[order][inside] for name, column in columns.items()}


_NONE = np.empty(0, np.int64)
