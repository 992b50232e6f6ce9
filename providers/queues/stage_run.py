"""One stage: its packets recorded, its processes started together, watched until all is delivered, and ended.

A stage that sends is over when its senders are through; one that receives, when each message that was put is received
and deleted, or when nothing has come for longer than messages can be invisible.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interruption import Interruption
from vmtrace.formats.durable import make_folder, write_aside
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.queues.board import Board, Counter, Plane
from vmtrace.providers.queues.crew import Crew
from vmtrace.providers.queues.meter import usage_on
from vmtrace.providers.queues.plan import Kind, Role
from vmtrace.providers.queues.prices import Usage
from vmtrace.providers.queues.task import StageTask
from vmtrace.providers.recording import Recorded, Recording

_LOOK_EVERY_S = 0.1
_QUIET_MARGIN_S = 3.0
_STOP_WITHIN_S = 2.0
_GIVES_UP_WITHIN_S = 5.0
_HURRIED_S = 0.5
"""For each of these, once somebody asked for the end."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a stage, while it goes on."""

    attempted: int
    sent: int
    received: int
    deleted: int
    foreign: int
    errors: int


@dataclass(slots=True)
class StageEnd:
    """How a stage ended."""

    record: dict[str, Any]
    used: Usage
    error: ServiceError | None = None
    interrupted: bool = False
    whole: bool = False
    """Every message that the service took is received and deleted, or there is nothing to receive in this stage."""


@dataclass(slots=True)
class StageRun:
    """Runs one stage. `waiting`: messages that may be in the queue already, of earlier stages or sessions."""

    task: StageTask
    waiting: int
    recording: Recording
    capture_s: float | None
    interruption: Interruption
    tick: Callable[[Counts], None]

    def run(self) -> StageEnd:
        """The stage from first to last packet; raises nothing but what is a defect."""
        make_folder(self.task.board_path.parent)
        settings_path = self.task.board_path.with_suffix(".json")
        write_aside(settings_path, self.task.as_json().encode())
        end = StageEnd({}, Usage())
        times: dict[str, int | None] = {"start_ns": time.time_ns(), "begin_ns": None, "sent_ns": None}
        recorded: list[Recorded] = []
        with Board(self.task.board_path, self.task.messages) as board:
            try:
                self.recording.start()
                with Crew(self.task, settings_path) as crew:
                    try:
                        self._watch(crew, board, times, recorded)
                        end.whole = True
                    finally:
                        self._end(crew, board)
            except KeyboardInterrupt:
                end.interrupted = True
            except CaptureError as error:
                end.error = ServiceError(ErrorKind.CAPTURE, str(error))
            except ServiceError as error:
                end.error = error
            if not recorded:
                recorded.append(self.recording.stop())
            end.whole = end.whole and self._is_whole(board)
            end.used = usage_on(board)
            times["end_ns"] = time.time_ns()
            end.record = {
                "stage": self.task.number,
                "session": self.task.session,
                "name": self.task.stage.name,
                "kind": str(self.task.stage.kind),
                "status": _status(end),
                "error_kind": None if end.error is None else str(end.error.kind),
                "error": None if end.error is None else str(end.error),
                **times,
                "counts": _as_record(counts_on(board)),
                "capture": recorded[0].capture,
                "interface": recorded[0].interface,
            }
        self.task.board_path.unlink(missing_ok=True)
        settings_path.unlink(missing_ok=True)
        return end

    def _watch(self, crew: Crew, board: Board, times: dict[str, int | None], recorded: list[Recorded]) -> None:
        with self.interruption.allowed():
            times["begin_ns"] = crew.begin()
        quiet = _Quiet(self.task.stage.visibility_s + self.task.stage.wait_s + _QUIET_MARGIN_S)
        began_s = time.monotonic()
        while True:
            with self.interruption.allowed():
                crew.listen(_LOOK_EVERY_S)
            crew.raise_deaths()
            counts = counts_on(board)
            self.tick(counts)
            if self.capture_s is not None and not recorded and time.monotonic() - began_s >= self.capture_s:
                recorded.append(self.recording.stop())
            senders = crew.of(Role.SENDER)
            if all(worker.done for worker in senders):
                times["sent_ns"] = times["sent_ns"] or (time.time_ns() if senders else None)
                begun = counts.received or not self._waits_for_another_host
                if self._is_whole(board) or (begun and quiet.since(counts)):
                    return

    @property
    def _waits_for_another_host(self) -> bool:
        return self.task.stage.kind == Kind.FLOW and not self.task.stage.senders

    def _is_whole(self, board: Board) -> bool:
        if not self.task.stage.receives:
            return True
        counts = counts_on(board)
        wanted = self.task.messages if self._waits_for_another_host else counts.sent + self.waiting
        return (
            min(counts.received, counts.deleted) >= wanted
            and board.marked(Plane.RECEIVED) >= wanted
            and board.marked(Plane.DELETED) >= wanted
        )

    def _end(self, crew: Crew, board: Board) -> None:
        """Senders and receivers first; deleters end when nothing is left for them."""
        hurried = self.interruption.asked  # then calls are given up: what is logged is what counts
        patience_s = 0.0 if hurried or self._is_whole(board) else self.task.stage.wait_s + _STOP_WITHIN_S
        gives_up_s = _HURRIED_S if hurried else _GIVES_UP_WITHIN_S
        crew.end(crew.of(Role.SENDER, Role.RECEIVER, Role.TAKER), patience_s, gives_up_s)
        crew.end(crew.of(Role.DELETER), _HURRIED_S if hurried else _STOP_WITHIN_S, gives_up_s)


class _Quiet:
    """Whether nothing was received or deleted for longer than a message can be invisible."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._last: tuple[int, ...] = ()
        self._since_s = time.monotonic()

    def since(self, counts: Counts) -> bool:
        now = (counts.received, counts.deleted, counts.attempted)
        if now != self._last:
            self._last, self._since_s = now, time.monotonic()
        return time.monotonic() - self._since_s > self._longest_s


def counts_on(board: Board) -> Counts:
    """What the board says now."""
    return Counts(
        board.total(Counter.ATTEMPTED),
        board.total(Counter.SENT),
        board.total(Counter.RECEIVED),
        board.total(Counter.DELETED),
        board.total(Counter.FOREIGN),
        board.total(Counter.ERRORS),
    )


def _as_record(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in counts.__slots__}


def _status(end: StageEnd) -> str:
    if end.interrupted:
        return "interrupted"
    if end.error is not None:
        return "budget" if end.error.kind == ErrorKind.BUDGET else "failed"
    return "complete"
