"""The log of one process of a queue run as columns: a row for each call, and a row for each message of a call.

Columns, because a run of hours has millions of messages: a row takes some tens of bytes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.read.records.fields import Fields
from vmtrace.analyze.read.records.window import ALL_TIME, Window

Ints = NDArray[np.int64]
SEND, RECEIVE, DELETE = "send", "receive", "delete"
OPERATIONS = (SEND, RECEIVE, DELETE)
SENDER, RECEIVER, DELETER, TAKER, COLLECTOR = "sender", "receiver", "deleter", "taker", "collector"
ROLES = (SENDER, RECEIVER, DELETER, TAKER, COLLECTOR)
TAKEN, REFUSED, UNKNOWN = 0, 1, 2
"""What became of a send: taken by the service, refused by it, or nobody knows."""
_LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What a process used until some moment of its stage."""

    resident_bytes: int
    cpu_s: float
    wall_s: float
    waited_s: float


@dataclass(slots=True)
class Calls:
    """Calls of one operation, in order."""

    start_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    messages: array[int] = field(default_factory=lambda: array("q"))
    """That the call was about; of a failed call 0."""
    failed: array[int] = field(default_factory=lambda: array("b"))
    requests: int = 0
    retry_causes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    foreign: int = 0

    def durations_s(self) -> NDArray[np.float64]:
        """Of the calls that did not fail."""
        ok = np.array(self.failed, np.int8) == 0
        took_ns = np.array(self.end_ns, np.int64) - np.array(self.start_ns, np.int64)
        taken: NDArray[np.float64] = took_ns[ok].astype(np.float64) / 1e9
        return taken


@dataclass(slots=True)
class Rows:
    """Messages of calls, a column each."""

    columns: dict[str, array[int]]

    @classmethod
    def of(cls, *names: str) -> Rows:
        """Without a row."""
        return cls({name: array("q") for name in names})

    def add(self, **values: int) -> None:
        """A row."""
        for name, value in values.items():
            self.columns[name].append(value)

    def keep(self, wanted: Ints) -> None:
        """Those of these numbers alone."""
        kept = np.isin(self["number"], wanted)
        for name in self.columns:
            self.columns[name] = array("q", self[name][kept].tolist())

    def __getitem__(self, name: str) -> Ints:
        return np.array(self.columns[name], np.int64)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(slots=True)
class ProcessLog:
    """What one process did."""

    stage: int
    session: int
    role: str
    place: int
    calls: dict[str, Calls] = field(default_factory=lambda: {name: Calls() for name in OPERATIONS})
    attempted: array[int] = field(default_factory=lambda: array("q"))
    sent: Rows = field(
        default_factory=lambda: Rows.of("number", "due_ns", "last_due_ns", "start_ns", "end_ns", "outcome", "ready_ns")
    )
    received: Rows = field(
        default_factory=lambda: Rows.of("number", "due_ns", "sent_ns", "start_ns", "end_ns", "position")
    )
    deleted: Rows = field(default_factory=lambda: Rows.of("number", "start_ns", "end_ns"))
    opened: set[tuple[str, str]] = field(default_factory=set)
    """Connections, as `addr:port` of both ends."""
    uses: list[ProcessUse] = field(default_factory=list)
    window: Window = ALL_TIME
    """Of messages by when their send call began, and of calls by when they began."""
    beyond: int = 0
    """Messages whose send call began outside."""
    _last_end_ns: int = 0

    def add(self, line: Fields) -> None:
        """A line of the log; raises `FieldError`."""
        operation = line.text("operation")
        if operation == "sending":
            numbers = _numbers(line, "numbers")
            if self.window.holds(line.integer("time_ns")):
                self.attempted.extend(numbers)
            else:
                self.beyond += len(numbers)
        elif operation == "process":
            self.uses.append(_use(line))
        elif operation in self.calls:
            self._call(operation, line)

    def _call(self, operation: str, line: Fields) -> None:
        start_ns, end_ns = line.integer("start_ns"), line.integer("end_ns")
        if start_ns is None or end_ns is None:
            raise line.wrong("start_ns", "a time")
        failed = "error_kind" in line
        refused = _refused(line)
        if operation == SEND:
            about = self._sent(line, start_ns, end_ns, refused, failed=failed)
        elif operation == RECEIVE:
            about = self._received(line, start_ns, end_ns)
        else:
            about = self._deleted(line, start_ns, end_ns, refused, failed=failed)
        self._last_end_ns = end_ns
        if not self.window.holds(start_ns):
            return
        calls = self.calls[operation]
        calls.start_ns.append(start_ns)
        calls.end_ns.append(end_ns)
        calls.messages.append(0 if failed else about - len(refused))
        calls.failed.append(failed)
        calls.requests += line.count("requests") or 0
        calls.foreign += line.count("foreign") or 0
        calls.refused.update(refused.values())
        if failed:
            calls.errors[line.text("error_kind") or "other"] += 1
        causes = line.part("retry_causes")
        for cause in causes.names() if causes else ():
            calls.retry_causes[cause] += (causes.count(cause) if causes else 0) or 0
        self._open(line)

    def _sent(self, line: Fields, start_ns: int, end_ns: int, refused: dict[int, str], *, failed: bool) -> int:
        numbers, dues_ns = _numbers(line, "numbers"), _numbers(line, "due_ns")
        if len(dues_ns) != len(numbers):
            raise line.wrong("due_ns", "a time for each number")
        begun_ns = line.integer("sent_ns") or start_ns
        if not self.window.holds(begun_ns):
            return len(numbers)
        last_due_ns = dues_ns[-1] if dues_ns else 0
        for number, due_ns in zip(numbers, dues_ns, strict=True):
            outcome = REFUSED if number in refused else UNKNOWN if failed else TAKEN
            self.sent.add(
                number=number,
                due_ns=due_ns,
                last_due_ns=last_due_ns,
                start_ns=begun_ns,
                end_ns=end_ns,
                outcome=outcome,
                ready_ns=max(last_due_ns, self._last_end_ns),
            )
        return len(numbers)

    def _received(self, line: Fields, start_ns: int, end_ns: int) -> int:
        rows = _table(line, "messages")
        # What the SDK makes of a response takes its own time, which the times of calls show.
        came_ns = min(max(line.integer("response_ns") or end_ns, start_ns), end_ns)
        for position, (number, due_ns, sent_ns, *_) in enumerate(rows):
            if self.window.holds(sent_ns):
                self.received.add(
                    number=number, due_ns=due_ns, sent_ns=sent_ns, start_ns=start_ns, end_ns=came_ns, position=position
                )
        return len(rows)

    def _deleted(self, line: Fields, start_ns: int, end_ns: int, refused: dict[int, str], *, failed: bool) -> int:
        numbers = _numbers(line, "numbers")
        for number in numbers:
            if not failed and number not in refused:
                self.deleted.add(number=number, start_ns=start_ns, end_ns=end_ns)
        return len(numbers)

    def _open(self, line: Fields) -> None:
        for pair in line.lists("opened"):
            if len(pair) == 2 and all(isinstance(end, str) for end in pair):
                self.opened.add((pair[0], pair[1]))


def _numbers(line: Fields, name: str) -> list[int]:
    found = line.values(name)
    if not all(_is_number(value) for value in found):
        raise line.wrong(name, "a list of whole numbers")
    return found


def _table(line: Fields, name: str) -> list[list[Any]]:
    rows = line.lists(name)
    if not all(len(row) >= 3 and all(map(_is_number, row[:3])) for row in rows):
        raise line.wrong(name, "a list of [number, due, sent]")
    return rows


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _refused(line: Fields) -> dict[int, str]:
    part = line.part("refused")
    if part is None:
        return {}
    try:
        return {int(name): part.text(name) or "" for name in part.names()}
    except ValueError:
        raise line.wrong("refused", "an object of numbers") from None


def _use(line: Fields) -> ProcessUse:
    return ProcessUse(
        line.count("resident_bytes") or 0,
        line.amount("cpu_s") or 0.0,
        line.amount("wall_s") or 0.0,
        line.amount("waited_s") or 0.0,
    )


def joined(rows: Iterable[Rows], name: str) -> Ints:
    """A column of several tables, one after the other."""
    return np.concatenate([*(one[name] for one in rows), np.empty(0, np.int64)])
