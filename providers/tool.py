"""Any command as the client of a storage service: run as it is, with its packets, its connections and its time.

The command says nothing of its requests. What is known is when it began and ended, how, which TCP sockets it and its
children had (looked for a hundred times a second), and what was on the wire. A run of it is a transaction with one
object: the command. Its folder is that of a storage run, and so is its report.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.capture.campaign import (
    COMPLETE,
    FAILED,
    INTERRUPTED,
    End,
    begin_host_record,
    begun,
    capture_record,
    outcome_of,
)
from vmtrace.capture.ending import Ending
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interfaces import interface_towards
from vmtrace.capture.settings import CaptureSettings
from vmtrace.formats.durable import make_folder
from vmtrace.providers.course import status_of
from vmtrace.providers.errors import ErrorKind, ProvidersError, UsageError
from vmtrace.providers.files import craft, discard
from vmtrace.providers.plan import Plan, Workload
from vmtrace.providers.process_sockets import ProcessSockets
from vmtrace.providers.recording import Recorded, Recording, capture_filter, check_capture, interface_for
from vmtrace.providers.run_folder import RunFolder

FILES = "{files}"
"""A word of the command that stands for the files of a workload."""
_ANY_TCP = "tcp or port 53 or icmp or icmp6 or arp"
_ELSEWHERE = "192.0.2.1"
_LOOK_EVERY_S = 0.01
_GRACE_S = 5.0
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolOrder:
    """What to run and how; the plan's workloads are made where the command takes files."""

    words: tuple[str, ...]
    out: Path
    plan: Plan
    direction: str
    moves_bytes: int
    """By a command that takes no files; 0: not known."""
    endpoint_url: str | None
    interface: str | None
    capture: bool
    snaplen: int | None
    filter: str | None
    limit_s: float
    """Longest time of one command."""
    name: str | None
    command: str
    metadata: bool = True


def words_of(text: str) -> tuple[str, ...]:
    """A command as a shell splits it; raises `UsageError`."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--tool: {error}") from None
    if not words:
        raise UsageError("--tool: expected a command")
    return words


def run_tool(order: ToolOrder) -> End:
    """Run the command once for each workload and repeat; raises `ProvidersError` where it cannot begin."""
    settings, interface = _settings(order)
    folder = RunFolder.create(order.out, _first_state(order, interface, settings))
    try:
        return _Tool(order, folder, settings, interface).run()
    finally:
        folder.close()


class _Tool:
    def __init__(
        self, order: ToolOrder, folder: RunFolder, settings: CaptureSettings | None, interface: str | None
    ) -> None:
        self._order, self._folder, self._settings, self._interface = order, folder, settings, interface
        self._child: subprocess.Popen[bytes] | None = None
        self._ending = Ending("stopped immediately", self._kill)
        self._peers: dict[str, None] = {}
        self._failed: list[str] = []

    def run(self) -> End:
        record = begin_host_record(self._folder.path, self._interface, metadata=self._order.metadata)
        outcome = outcome_of(self._work, status_of)
        discard(self._folder.path / "files")
        record.stop()
        error = (
            "interrupted" if outcome.status == INTERRUPTED else None if outcome.error is None else str(outcome.error)
        )
        if outcome.status == COMPLETE and self._failed:
            done = self._folder.state["transactions_finished"]
            error = f"{len(self._failed)} of {done} commands failed, the last: {self._failed[-1]}"
        self._folder.end(outcome.status, error, None if error is None else str(ErrorKind.OTHER))
        outcome.raise_defect()
        return End(outcome.status, error, self._folder.state)

    def _work(self) -> None:
        with self._ending:
            for number, (repeat, workload) in enumerate(_jobs(self._order), 1):
                why = self._transaction(number, repeat, workload)
                self._failed += [] if why is None else [why]
                self._folder.note(
                    transactions_finished=number, transactions_failed=len(self._failed), front_ends=list(self._peers)
                )

    def _transaction(self, number: int, repeat: int, workload: Workload) -> str | None:
        """One run of the command; returns why it failed."""
        files_folder = self._folder.path / "files"
        words = list(self._order.words)
        if FILES in words:
            paths = [str(file.path) for file in craft(files_folder, workload, None)]
            words = [part for word in words for part in (paths if word == FILES else [word])]
        path = None if self._settings is None else self._folder.capture_path(number)
        recording = Recording(self._interface, self._settings, path)
        recording.start()
        try:
            ran = self._run(words, number)
        finally:
            recorded = recording.stop()
            discard(files_folder)
        self._peers |= dict.fromkeys(peer for _, peer in ran.sockets)
        self._note(number, repeat, workload, ran, recorded)
        return ran.why

    def _run(self, words: Sequence[str], number: int) -> _Ran:
        logs = self._folder.path / "tool"
        make_folder(logs)
        before_s = _children_cpu_s()
        with (logs / f"{number:04d}.log").open("wb") as log:
            start_ns, began_ns = time.time_ns(), time.perf_counter_ns()
            try:
                self._child = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            except OSError as error:
                raise ProvidersError(f"--tool {words[0]}: {error.strerror}") from error
            sockets = ProcessSockets(self._child.pid)
            try:
                status = self._wait(sockets, self._order.limit_s)
            finally:
                took_ns = time.perf_counter_ns() - began_ns
                self._kill()
        why = None
        if status is None:
            why = f"{words[0]}: not ended after {self._order.limit_s:g} s: --deadline"
        elif status != 0:
            ended = f"exit status {status}" if status > 0 else f"signal {-status}"
            why = f"{words[0]}: {ended}: see {logs / f'{number:04d}.log'}"
        return _Ran(start_ns, took_ns, status, why, _children_cpu_s() - before_s, tuple(sockets.seen))

    def _wait(self, sockets: ProcessSockets, limit_s: float) -> int | None:
        """The exit status; None where its time was over."""
        assert self._child is not None
        ends_s = time.monotonic() + limit_s
        with self._ending.allowed():
            while time.monotonic() < ends_s:
                sockets.look()
                with suppress(subprocess.TimeoutExpired):
                    return self._child.wait(_LOOK_EVERY_S)
        return None

    def _kill(self) -> None:
        """The command and what it left behind in its session; it is gone afterwards."""
        child = self._child
        if child is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, number)
            with suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_S)
                break

    def _note(self, number: int, repeat: int, workload: Workload, ran: _Ran, recorded: Recorded) -> None:
        times = {"start_ns": ran.start_ns, "end_ns": ran.start_ns + ran.took_ns, "duration_s": ran.took_ns / 1e9}
        moved = workload.bytes if ran.why is None else 0
        kind = None if ran.why is None else str(ErrorKind.OTHER)
        about = {"workload": workload.name, "repeat": repeat, "direction": self._order.direction}
        self._folder.append(
            "objects",
            {
                "transaction": number, **about, "object": 1, "provider": self._folder.state["provider"],
                "name": "command", "bytes": workload.bytes, "moved_bytes": moved,
                "outcome": "done" if ran.why is None else "failed", "error_kind": kind, "error": ran.why, **times,
                "first_byte_ns": None, "requests": 0, "retries": 0, "retry_causes": {}, "status": None,
                "front_end": ran.sockets[-1][1] if ran.sockets else None,
                "connections": [
                    {"local": local, "peer": peer, "requests": 0, "opened": True} for local, peer in ran.sockets
                ],
            },
        )  # fmt: skip
        self._folder.append(
            "transactions",
            {
                "transaction": number, **about, "files": 1, "file_bytes": workload.bytes, "bytes": workload.bytes,
                "content": workload.content, **times, "login": None,
                "objects_done": int(ran.why is None), "objects_failed": int(ran.why is not None), "retries": 0,
                "moved_bytes": moved, "status": COMPLETE if ran.why is None else FAILED, "error_kind": kind,
                "error": ran.why, "capture": recorded.capture, "interface": recorded.interface,
                "tool": {"exit_status": ran.status, "cpu_s": ran.cpu_s, "files": workload.files},
            },
        )  # fmt: skip
        self._folder.sync()


@dataclass(frozen=True, slots=True)
class _Ran:
    """How a command went."""

    start_ns: int
    took_ns: int
    status: int | None
    why: str | None
    cpu_s: float
    sockets: tuple[tuple[str, str], ...]


def _jobs(order: ToolOrder) -> list[tuple[int, Workload]]:
    """Repeats outermost, as of other plans; a command without files is a workload of its own."""
    takes_files = FILES in order.words
    workloads = order.plan.workloads if takes_files else (Workload("command", 1, order.moves_bytes),)
    return [(repeat, workload) for repeat in range(1, order.plan.repeat + 1) for workload in workloads]


def _settings(order: ToolOrder) -> tuple[CaptureSettings | None, str | None]:
    urls = () if order.endpoint_url is None else (order.endpoint_url,)
    interface = order.interface
    try:
        if interface is None:
            interface = interface_for(urls, ()) if urls else interface_towards(_ELSEWHERE)
        if not order.capture:
            return None, interface
        expression = order.filter or (capture_filter(urls, ()) if urls else _ANY_TCP)
        settings = CaptureSettings(interface, expression, order.snaplen, also_tagged=True)
        check_capture(settings)
    except CaptureError as error:
        raise ProvidersError(f"{error} (or give --no-capture)") from error
    return settings, interface


def _children_cpu_s() -> float:
    """Of children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _first_state(order: ToolOrder, interface: str | None, settings: CaptureSettings | None) -> Record:
    jobs = _jobs(order)
    tool = Path(order.words[0]).name
    workloads = list(dict.fromkeys(workload for _, workload in jobs))
    plan = Plan(order.plan.name, tuple(workloads), order.plan.repeat, scale=order.plan.scale)
    return {
        **begun(None, order.out, order.name, order.command, time.time_ns()),
        "provider": tool, "region": None, "endpoint": order.endpoint_url, "endpoint_told": order.endpoint_url,
        "container": None, "container_created": False, "options": {}, "tls": None,
        "sdk": {"name": tool, "version": None, "settings": {}}, "plan": plan.as_record(), "prices": None, "used": None,
        "tool": list(order.words), "transactions_planned": len(jobs), "transactions_finished": 0,
        "transactions_failed": 0, "front_ends": [], "front_end_names": {}, "interface": interface,
        "capture": capture_record(settings),
        "left_behind": [], "sessions": 1,
    }  # fmt: skip
