"""A campaign: pair after pair of a plan, through failures of network, receiver and captures, until it is done.

Owns the order of things and what becomes of a failure. Where a result goes is `run_folder`'s; how a transfer is done
and recorded is `transfers`'; the line to the receiver is `link`'s.

    a signal asks for the end, receiver away too long           the run stays as it is and can be resumed
    a transfer that fails                                        the pair is tried again, then marked as failed
    a capture that fails                                         its transfer is marked
"""

from __future__ import annotations

import dataclasses
import errno
import shutil
import time
from typing import Any, Callable

from vmtrace.capture.campaign import COMPLETE, FAILED, INTERRUPTED, End, outcome_of
from vmtrace.capture.clock import ClockWatch
from vmtrace.capture.interruption import Interruption
from vmtrace.sender.baseline import Baseline, RoundTrips
from vmtrace.sender.display.view import Display
from vmtrace.sender.link import Link, Patience
from vmtrace.sender.plan import Plan, Step
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.tally import Tally
from vmtrace.sender.transfers import TransferFailed
from vmtrace.sender.wire.errors import KeyRefused, ReceiverRefused, VersionMismatch, WireError
from vmtrace.sender.wire.program import describe
from vmtrace.sender.wire.records import directions_of

Record = dict[str, Any]
RunTransfer = Callable[[int, str, Any, Display], Record]
_LEAST_FREE_BYTES = 16 << 20
_FILLED = 0.9
"""For the rest of a time that the last transfer was to fill, no further one is made."""
_MOST_GROWTH = 32
"""Of a transfer that fills a time: a short one says little about a long one (a token bucket that is full)."""
_HOPELESS = (KeyRefused, VersionMismatch)


class _StuckError(Exception):
    """The receiver is away for too long, or will never take us; whether a later session may is in `status`."""

    def __init__(self, status: str, error: str) -> None:
        super().__init__(error)
        self.status = status


def _status_of(error: Exception) -> str | None:
    """An `OSError` is of this side's disk: the receiver's troubles are `WireError`s."""
    if isinstance(error, _StuckError):
        return error.status
    return FAILED if isinstance(error, OSError) else None


class Campaign:
    """One session of a run: `run` goes from the first pair that is not over to the end."""

    def __init__(
        self,
        folder: RunFolder,
        link: Link,
        transfer: RunTransfer,
        baseline: Baseline | None,
        display: Display,
        interruption: Interruption,
    ) -> None:
        self._folder = folder
        self._plan: Plan = folder.plan
        self._link = link
        self._transfer = transfer
        self._baseline = baseline
        self._display = display
        self._interruption = interruption
        self._patience = Patience(folder.settings.patience_s)
        self._most_attempts = folder.settings.attempts
        self._clock = ClockWatch()
        self.tally = Tally()
        self._goodput_bps: float | None = None
        self._last_bytes = 0
        self._moving_s = 0.0
        self._last_failed = False

    def run(self) -> End:
        """Do what is left of the plan. Raises nothing that a campaign may meet: the result says how it ended."""
        outcome = outcome_of(self._run_pairs, _status_of)
        outcome.raise_defect()
        if outcome.error is None:
            by_signal = outcome.status == INTERRUPTED
            return End(outcome.status, "stopped by a signal" if by_signal else None, by_signal=by_signal)
        return End(outcome.status, describe(outcome.error))

    def _run_pairs(self) -> None:
        while not self._time_is_over():
            step = self._plan.step(self._folder.finished + 1)
            if step is None:
                return
            self._check_room()
            record = self._pair(self._filling(step))
            self._count(record)
            self._folder.add_pair(record)
            self.tally.add(record)
            self._display.pair_finished(record)
            if not self._time_is_over() and self._plan.step(self._folder.finished + 1) is not None:
                self._link.rest(step.entry.gap_s)

    def _time_is_over(self) -> bool:
        if self._plan.duration_s is None:
            return False
        if self._plan.fill and not self._last_failed:
            return self._moving_s >= _FILLED * self._plan.duration_s
        return self._folder.elapsed_s >= self._plan.duration_s

    def _filling(self, step: Step) -> Step:
        """In a plan that fills its time, the pair with a data transfer for what is left of it."""
        if not self._plan.fill or self._plan.duration_s is None or self._goodput_bps is None:
            return step
        entry, left_s = step.entry, self._plan.duration_s - self._moving_s
        allowed_bytes = self._link.accepted.limits.transfer_bytes // len(directions_of(entry.data.direction))
        grown_bytes = _MOST_GROWTH * (self._last_bytes or entry.data.bytes)
        data = entry.data.filling(left_s, self._goodput_bps, min(grown_bytes, allowed_bytes))
        self._last_bytes = data.bytes
        return dataclasses.replace(step, entry=dataclasses.replace(entry, data=data))

    def _count(self, record: Record) -> None:
        """What the next pair of a plan that fills its time goes by."""
        data = record["data"] or {}
        self._last_failed = record["status"] != COMPLETE
        self._goodput_bps = data.get("goodput_bps") or self._goodput_bps
        self._moving_s += data.get("duration_s") or 0.0

    def _check_room(self) -> None:
        if shutil.disk_usage(self._folder.path).free < _LEAST_FREE_BYTES:
            raise OSError(errno.ENOSPC, "the disk is nearly full: make room", str(self._folder.path))

    def _pair(self, step: Step) -> Record:
        """Try until it is done, or was tried often enough; a receiver that is away does not count."""
        start_ns = time.time_ns()
        self._clock.look()
        trips = self._baseline.before(step.sequence) if self._baseline is not None else None
        attempt = counted = 0
        while True:
            attempt += 1
            done: Record = {"probe": None, "data": None}
            try:
                self._try(step, done)
            except KeyboardInterrupt:
                self._folder.add_attempt(step.sequence, attempt, "stopped by a signal")
                raise
            except (TransferFailed, ReceiverRefused) as error:
                counted += 1
                last = counted >= self._most_attempts
                self._failed(step, attempt, error, final=last)
                if last:
                    return self._record(step, start_ns, attempt, trips, done, describe(error))
            except WireError as error:
                self._failed(step, attempt, error, final=isinstance(error, _HOPELESS))
            else:
                self._patience.succeeded()
                return self._record(step, start_ns, attempt, trips, done, None)

    def _try(self, step: Step, done: Record) -> None:
        for part, plan in (("probe", step.entry.probe), ("data", step.entry.data)):
            self._display.transfer_begins(step, part, plan)
            done[part] = self._transfer(step.sequence, part, plan, self._display)

    def _failed(self, step: Step, attempt: int, error: Exception, *, final: bool) -> None:
        """Write an attempt down, and wait for the next; raises `_StuckError` when there is none to be."""
        text = describe(error)
        self._folder.add_attempt(step.sequence, attempt, text)
        self._link.drop()
        if isinstance(error, _HOPELESS):
            raise _StuckError(FAILED, text)
        if final:
            return
        wait_s = self._patience.next_wait_s()
        if wait_s is None:
            raise _StuckError(INTERRUPTED, f"given up: {text}")
        self._display.attempt_failed(step, attempt, text, wait_s)
        self._interruption.sleep(wait_s)

    def _record(
        self, step: Step, start_ns: int, attempts: int, trips: RoundTrips | None, done: Record, error: str | None
    ) -> Record:
        clock_step = self._clock.look()
        return {
            "sequence": step.sequence,
            "repeat": step.repeat,
            "index": step.entry.index,
            "pair": step.pair,
            "start_ns": start_ns,
            "end_ns": time.time_ns(),
            "status": COMPLETE if error is None else FAILED,
            "attempts": attempts,
            "error": error,
            "rtt": None if trips is None else trips.as_record(),
            **done,
            "clock_step_s": None if clock_step is None else clock_step.step_s,
        }
