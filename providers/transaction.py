"""One transaction: capture, login, transfers, close. Steps 3 to 6 of Fig. 1 of the study.

What is measured lies between two readings of the clock around each call of the SDK; records are made outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vmtrace.capture.campaign import COMPLETE, FAILED, INTERRUPTED
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interruption import Interruption
from vmtrace.providers.errors import HOPELESS, ErrorKind, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.journal import Journal
from vmtrace.providers.plan import UPLOAD
from vmtrace.providers.recording import Recorded, Recording
from vmtrace.providers.run_folder import RunFolder
from vmtrace.providers.service import Service
from vmtrace.providers.transfer import Job, Listener, Mover, Tally

Record = dict[str, Any]
_MOST_FAILED_IN_A_ROW = 3


@dataclass(slots=True)
class Outcome:
    """What came of a transaction."""

    record: Record
    interrupted: bool = False
    hopeless: ServiceError | None = None
    """Why no further transaction would fare better."""
    failed: ServiceError | None = None
    """The last of what went wrong."""


@dataclass(slots=True)
class Transactor:
    """Runs the transactions of one run; what it needs for that."""

    build: Callable[[], Service]
    error_of: Callable[[Exception], ServiceError]
    observer: HttpObserver
    folder: RunFolder
    journal: Journal
    interruption: Interruption
    listener: Listener
    about: dict[str, Any] = field(default_factory=dict)
    """Keys that stand in every line of the metadata log: provider, region, endpoint."""

    def run(self, job: Job, recording: Recording) -> Outcome:
        """One transaction; its lines are in the folder afterwards. Raises nothing of the SDK's."""
        if job.direction == UPLOAD:
            self.journal.creating([item.name for item in job.items])
        self.observer.forget_connections()
        outcome, tally = Outcome({}), Tally()
        service: Service | None = None
        mover: Mover | None = None
        start_ns, began_ns = time.time_ns(), time.perf_counter_ns()
        try:
            recording.start()
            with self.interruption.allowed():
                service = self.build()  # recorded, as it may ask for credentials; not timed, as SDKs load slowly
            start_ns, began_ns = time.time_ns(), time.perf_counter_ns()
            self._login(service, tally)
            mover = self._mover(service, job, tally)
            self._move_all(mover, job)
        except KeyboardInterrupt:
            outcome.interrupted = True
        except CaptureError as error:
            outcome.hopeless = ServiceError(ErrorKind.CAPTURE, str(error))
        except ServiceError as error:
            tally.last_error = error
            outcome.hopeless = error if error.kind in HOPELESS else None
        finally:
            took_ns = time.perf_counter_ns() - began_ns
            if service is not None:
                service.close()
            if mover is not None:
                mover.settle()  # neither the last transfer nor the end of its connection waits for a digest
            recorded = recording.stop()
        outcome.failed = outcome.hopeless or tally.last_error
        times = {"start_ns": start_ns, "end_ns": start_ns + took_ns, "duration_s": took_ns / 1e9}
        outcome.record = _record(job, times, tally, outcome, recorded)
        self.folder.append("transactions", outcome.record)
        self.folder.sync()
        return outcome

    def _login(self, service: Service, tally: Tally) -> None:
        self.observer.begin()
        try:
            with self.interruption.allowed():
                service.login()
        except Exception as error:
            raise self.observer.late or self.error_of(error) from error
        finally:
            tally.login = self.observer.end()

    def _mover(self, service: Service, job: Job, tally: Tally) -> Mover:
        return Mover(
            service,
            self.error_of,
            self.observer,
            self.interruption,
            self.listener,
            lambda line: self.folder.append("objects", {**self.about, **line}),
            self.journal.created,
            job,
            tally,
        )

    def _move_all(self, mover: Mover, job: Job) -> None:
        """Object after object; raises the `ServiceError` after which the rest is not worth trying."""
        for number, item in enumerate(job.items, 1):
            if job.direction != UPLOAD and item.reference is None:
                continue  # its upload failed, and is told of there
            error = mover.move(number, item)
            if error is None:
                continue
            gone = error.kind == ErrorKind.ENDPOINT_GONE
            if error.kind in HOPELESS or gone or mover.tally.failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
                raise error


def _record(job: Job, times: Record, tally: Tally, outcome: Outcome, recorded: Recorded) -> Record:
    """A line of `transactions.jsonl`."""
    error = outcome.failed
    bad = error is not None or tally.failed > 0
    return {
        "transaction": job.number,
        "workload": job.workload.name,
        "repeat": job.repeat,
        "direction": job.direction,
        "files": job.workload.files,
        "file_bytes": job.workload.size_bytes,
        "bytes": job.workload.bytes,
        "content": job.workload.content,
        **times,
        "login": None if tally.login is None else tally.login.as_record(),
        "objects_done": tally.done,
        "objects_failed": tally.failed,
        "retries": tally.retries,
        "moved_bytes": tally.moved_bytes,
        "status": INTERRUPTED if outcome.interrupted else FAILED if bad else COMPLETE,
        "error_kind": None if error is None else str(error.kind),
        "error": None if error is None else str(error),
        "capture": recorded.capture,
        "interface": recorded.interface,
    }
