"""The run folder as its sender writes it (docs/run-folder.md): what is there is valid at every moment.

Lines are appended and synced before the next pair begins; `run.json` is written aside and renamed at every change of
state. A folder is locked while it is written, so that two senders never share one.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from vmtrace.capture.campaign import COMPLETE, RUNNING, begun
from vmtrace.formats.durable import append_line, hold_folder, make_folder, repair_tail
from vmtrace.formats.run_state import RunStateError, read_run_state, write_run_state
from vmtrace.formats.schemas import RUN
from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan import Plan
from vmtrace.sender.plan_record import plan_from_record, plan_record
from vmtrace.sender.settings import Settings
from vmtrace.sender.wire.fields import FieldError, from_json
from vmtrace.sender.wire.names import SENDER, path_of

_LINES = ("pairs.jsonl", "attempts.jsonl", "ping.jsonl")
Record = dict[str, Any]


class RunFolder:
    """One run's folder, opened for writing. Every method but `path_of` leaves what it did on the disk."""

    def __init__(self, path: Path, state: Record) -> None:
        self.path = path
        self._state = state
        self._lock = _lock(path)
        self._began_s: float | None = None
        """When this program's session began; None where it only looks, or fetches."""
        self._earlier_s = 0.0
        self.finished = 0
        """Pairs that are over, in all sessions."""
        self.failed = 0
        """Those of them without a result."""
        self.echoes = 0
        """Echoes of the RTT baseline so far."""

    @classmethod
    def create(cls, path: Path, plan: Plan, settings: Settings, command: str, name: str | None) -> RunFolder:
        """Begin a run in a new or empty folder."""
        _refuse_what_is_there(path)
        make_folder(path)
        state: Record = {
            "schema": RUN,
            **begun(None, path, name, command, None),
            "sessions": [],
            "plan": plan_record(plan),
            "settings": dataclasses.asdict(settings),
            "pairs_planned": plan.pairs_planned,
            "pairs_finished": 0,
            "pairs_failed": 0,
            "sender": None,
            "receiver": None,
            "clock": None,
            "receiver_half": None,
        }
        return cls(path, state)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open a run that is there: to go on with it, or to fetch its other half."""
        folder = cls(path, _read_state(path))
        try:
            for name in _LINES:
                repair_tail(path / name)
            folder._count()
        except BaseException:
            folder.close()
            raise
        return folder

    # What is in it.

    @property
    def run_id(self) -> str | None:
        """The receiver's name of the run; None before it was reached for the first time."""
        value = self._state.get("id")
        return value if isinstance(value, str) else None

    @property
    def status(self) -> str:
        """`running`, `complete`, `interrupted` or `failed`."""
        return str(self._state.get("status"))

    @property
    def plan(self) -> Plan:
        """The plan of the run, scale applied."""
        try:
            return plan_from_record(self._state.get("plan"))
        except SenderError as error:
            raise SenderError(f"{self.path / 'run.json'}: plan: {error}") from error

    @property
    def settings(self) -> Settings:
        """How the run was asked to be recorded."""
        try:
            return from_json(Settings, self._state.get("settings") or {})
        except FieldError as error:
            raise SenderError(f"{self.path / 'run.json'}: settings: {error}") from error

    @property
    def receiver(self) -> Record | None:
        """Where the receiver was, as it was recorded; None before it was reached."""
        value = self._state.get("receiver")
        return value if isinstance(value, dict) else None

    @property
    def receiver_half_complete(self) -> bool:
        """True if all files of the receiver are here."""
        half = self._state.get("receiver_half")
        return isinstance(half, dict) and half.get("status") == COMPLETE

    @property
    def sessions(self) -> int:
        """How many sessions there were, with this one."""
        return len(self._sessions())

    @property
    def earlier_s(self) -> float:
        """How long the sessions before this one have taken."""
        return self._earlier_s

    @property
    def elapsed_s(self) -> float:
        """How long all sessions have taken, by a clock that does not step."""
        return self._earlier_s + (0.0 if self._began_s is None else time.monotonic() - self._began_s)

    def path_of(self, kind: str, sequence: int, part: str, side: str = SENDER) -> Path:
        """Where a file of the run is, by the kinds of `vmtrace.sender.wire.names`."""
        return self.path / path_of(kind, sequence, part, side)

    # What happens to it.

    def change_settings(self, settings: Settings) -> None:
        """Go on with other settings than before; written when the session begins."""
        self._state["settings"] = dataclasses.asdict(settings)

    def begin_session(self, start_ns: int) -> None:
        """A session of the sender begins; files of a pair that is not over are removed."""
        self._remove_pairs_after(self.finished)
        sessions = self._sessions()
        self._earlier_s = sum(_seconds(session.get("elapsed_s")) for session in sessions)
        self._began_s = time.monotonic()
        sessions.append({"start_ns": start_ns, "end_ns": None, "elapsed_s": 0.0})
        if self._state.get("start_ns") is None:
            self._state["start_ns"] = start_ns
        self._state.update(sessions=sessions, status=RUNNING, error=None, end_ns=None)
        self._write()
        for kind in ("packets", "tcpinfo", "host"):
            make_folder(self.path / kind / ("" if kind == "host" else SENDER))

    def note(self, **values: Any) -> None:
        """Record who takes part (`id`, `sender`, `receiver`, `clock`) or what came of it (`receiver_half`)."""
        assert set(values) <= set(self._state)
        self._state.update(values)
        self._write()

    def add_pair(self, record: Record) -> None:
        """A pair is over."""
        append_line(self.path / "pairs.jsonl", _line(record))
        self._counted(record)
        self._write()

    def add_attempt(self, sequence: int, attempt: int, error: str) -> None:
        """An attempt at a pair failed."""
        record = {"sequence": sequence, "attempt": attempt, "time_ns": time.time_ns(), "error": error}
        append_line(self.path / "attempts.jsonl", _line(record))

    def add_echo(self, pair: int, method: str, time_ns: int, rtt_s: float | None) -> None:
        """An echo came back, or did not (None)."""
        self.echoes += 1
        record = {"time_ns": time_ns, "method": method, "sequence": self.echoes, "pair": pair, "rtt_s": rtt_s}
        append_line(self.path / "ping.jsonl", _line(record))

    def end(self, status: str, error: str | None) -> None:
        """The session is over."""
        end_ns = time.time_ns()
        sessions = self._sessions()
        if sessions:
            sessions[-1].update(end_ns=end_ns)
        self._state.update(status=status, error=error, end_ns=end_ns, sessions=sessions)
        self._write()

    def close(self) -> None:
        """Let others write to the folder; one in which no session began goes again."""
        os.close(self._lock)
        if not self._sessions():
            with suppress(OSError):  # it was there before, and empty, or somebody put something in
                self.path.rmdir()

    def _sessions(self) -> list[Record]:
        sessions = self._state.get("sessions")
        return (
            [dict(session) for session in sessions if isinstance(session, dict)] if isinstance(sessions, list) else []
        )

    def _write(self) -> None:
        if self._began_s is not None:
            self._state["sessions"][-1]["elapsed_s"] = round(time.monotonic() - self._began_s, 3)
        self._state.update(pairs_finished=self.finished, pairs_failed=self.failed)
        write_run_state(self.path, self._state)

    def _count(self) -> None:
        for record in pair_records(self.path):
            self._counted(record)
        for record in _records(self.path / "ping.jsonl"):
            self.echoes = max(self.echoes, _whole(record.get("sequence")))

    def _counted(self, record: Record) -> None:
        self.finished += 1
        self.failed += record.get("status") != COMPLETE

    def _remove_pairs_after(self, sequence: int) -> None:
        for kind in ("packets", "tcpinfo"):
            for path in self.path.glob(f"{kind}/*/*"):
                number = path.name.lstrip(".").partition("-")[0]
                if number.isascii() and number.isdigit() and int(number) > sequence:
                    path.unlink()


def pair_records(path: Path) -> Iterator[Record]:
    """The lines of a run's `pairs.jsonl`, in order; raises `SenderError` where one is missing or is none."""
    for position, record in enumerate(_records(path / "pairs.jsonl"), 1):
        if record.get("sequence") != position:
            raise SenderError(
                f"{path / 'pairs.jsonl'}: line {position} is not about pair {position}: the file was changed"
            )
        yield record


def _records(path: Path) -> Iterator[Record]:
    """Line by line: a long run must not be in memory at once."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
            except ValueError as error:
                raise SenderError(f"{path}: line {number} is damaged: {error}") from error
            if not isinstance(record, dict):
                raise SenderError(f"{path}: line {number} is damaged: expected an object")
            yield record


def _read_state(path: Path) -> Record:
    try:
        return read_run_state(path, RUN, "this version")
    except RunStateError as error:
        raise SenderError(str(error)) from error


def _refuse_what_is_there(path: Path) -> None:
    try:
        if any(path.iterdir()):
            hint = "give --resume to go on with it" if (path / "run.json").exists() else "name a new folder"
            raise SenderError(f"{path}: there is something in this folder: {hint}")
    except FileNotFoundError:
        return
    except OSError as error:
        raise SenderError(f"{path}: {error.strerror}") from error


def _lock(path: Path) -> int:
    try:
        return hold_folder(path)
    except BlockingIOError:
        raise SenderError(f"{path}: another vmtrace is writing to this run") from None


def _line(record: Record) -> str:
    return json.dumps(record, separators=(",", ":"))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and value > 0 else 0.0
