"""The processes of one stage, from the coordinator's side: started together, watched, and always ended.

They are in sessions of their own, so that Ctrl-C reaches the coordinator alone. One whose coordinator dies sees the end
of its standard input, ends its call, and is gone.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from vmtrace.formats.durable import make_folder
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.queues.plan import Role
from vmtrace.providers.queues.task import StageTask

_READY_WITHIN_S = 120.0
_AHEAD_S = 0.5
_LOOK_S = 0.02
_SEND_BUFFER_BYTES = 1 << 17
_MODULE = "vmtrace.providers.queues.worker"


@dataclass
class Worker:
    """One process."""

    role: Role
    place: int
    process: subprocess.Popen[bytes]
    errors_path: Path
    ready: bool = False
    done: bool = False
    error: ServiceError | None = None
    _received: bytes = field(default=b"", repr=False)

    @property
    def name(self) -> str:
        """For a person."""
        return f"{self.role} {self.place}"

    def listen(self) -> bool:
        """Take what it reported; False at the end of its output."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        self._received += data
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            self._apply(json.loads(line))
        return bool(data)

    def _apply(self, record: dict[str, Any]) -> None:
        if record["what"] == "ready":
            self.ready = True
        elif record["what"] == "done":
            self.done = True
        elif record["what"] == "error":
            self.error = ServiceError(ErrorKind(record["kind"]), f"{self.name}: {record['text']}", record["remedy"])

    def death(self) -> ServiceError | None:
        """Why it ended, unless it should have."""
        status = self.process.poll()
        if status is None or status == 0 or self.error is not None:
            return self.error
        if status < 0:
            name = signal.Signals(-status).name
            return ServiceError(ErrorKind.OTHER, f"{self.name} was killed ({name})", "resume the run with --resume")
        last = self.errors_path.read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        return ServiceError(ErrorKind.OTHER, f"{self.name} ended with status {status}: {last[0]}", "")


class Crew:
    """All processes of a stage; a context that leaves none behind."""

    def __init__(self, task: StageTask, settings_path: Path) -> None:
        self._task, self._settings_path = task, settings_path
        self.workers: list[Worker] = []

    def __enter__(self) -> Self:
        make_folder(self._task.folder / "logs")
        receives, deletes = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with receives, deletes:
            receives.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
            for slot, (role, place) in enumerate(self._task.stage.crew()):
                way = {Role.RECEIVER: receives, Role.DELETER: deletes}.get(role)
                self.workers.append(self._started(role, place, slot, way))
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()
            for stream in (worker.process.stdin, worker.process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            if worker.errors_path.exists() and not worker.errors_path.stat().st_size:
                worker.errors_path.unlink()

    def _started(self, role: Role, place: int, slot: int, way: socket.socket | None) -> Worker:
        words = [sys.executable, "-m", _MODULE, str(self._settings_path), str(role), str(place), str(slot)]
        kept = [] if way is None else [way.fileno()]
        errors_path = self._task.log_path(role, place).with_suffix(".err")
        descriptor = os.open(errors_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            process = subprocess.Popen(
                [*words, *map(str, kept)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=descriptor,
                pass_fds=kept,
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
        return Worker(role, place, process, errors_path)

    def begin(self) -> int:
        """Wait until all are ready, then have them begin together; returns when, Unix ns. Raises `ServiceError`."""
        ends_s = time.monotonic() + _READY_WITHIN_S
        while not all(worker.ready for worker in self.workers):
            self.listen(0.1)
            self.raise_deaths()
            if time.monotonic() > ends_s:
                late = next(worker.name for worker in self.workers if not worker.ready)
                raise ServiceError(ErrorKind.ENDPOINT_GONE, f"{late} is not ready after {_READY_WITHIN_S:.0f} s")
        start_ns = time.time_ns() + int(_AHEAD_S * 1e9)
        for worker in self.workers:
            _write(worker.process.stdin, f"go {start_ns}\n")
        return start_ns

    def listen(self, wait_s: float) -> None:
        """Take what processes report within this time."""
        alive = [worker for worker in self.workers if worker.process.poll() is None]
        streams = {worker.process.stdout: worker for worker in alive if worker.process.stdout is not None}
        if not streams:
            time.sleep(min(wait_s, _LOOK_S))
            return
        ready, _, _ = select.select(list(streams), [], [], wait_s)
        for stream in ready:
            if not streams[stream].listen():
                time.sleep(_LOOK_S)  # it closed its output, and is about to end

    def raise_deaths(self) -> None:
        """Raise why a process ended that should not have."""
        for worker in self.workers:
            if worker.process.poll() is not None:
                worker.listen()
                death = worker.death()
                if death is not None:
                    raise death

    def of(self, *roles: Role) -> list[Worker]:
        """Those of some roles."""
        return [worker for worker in self.workers if worker.role in roles]

    def end(self, workers: Sequence[Worker], within_s: float, gives_up_s: float) -> None:
        """Ask them to end after their call; those that take longer give up their call in that time, or are killed."""
        for worker in workers:
            if worker.process.stdin is not None:
                with suppress(OSError):
                    worker.process.stdin.close()
        if self._ended(workers, within_s):
            return
        for worker in workers:
            if worker.process.poll() is None:
                worker.process.terminate()
        if not self._ended(workers, gives_up_s):
            for worker in workers:
                worker.process.kill()

    def _ended(self, workers: Sequence[Worker], within_s: float) -> bool:
        ends_s = time.monotonic() + within_s
        while any(worker.process.poll() is None for worker in workers):
            if time.monotonic() >= ends_s:
                return False
            self.listen(_LOOK_S)
        return True


def _write(stream: IO[bytes] | None, line: str) -> None:
    assert stream is not None
    with suppress(OSError):  # a process that died is found by `raise_deaths`
        stream.write(line.encode())
        stream.flush()
