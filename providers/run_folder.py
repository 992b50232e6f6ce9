"""The run folder (docs/storage.md): what is there is valid at every moment.

Lines are appended by one write each and synced when a transaction is over; `run.json` is written aside and renamed. A
folder is locked while it is written.
"""

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from vmtrace.formats.durable import append_whole, hold_folder, make_folder, open_to_append, repair_tail
from vmtrace.formats.run_state import RunStateError, read_run_state, write_run_state
from vmtrace.formats.schemas import STORAGE_RUN
from vmtrace.providers.errors import ProvidersError

Record = dict[str, Any]


class RunFolder:
    """One run's folder, open for writing. Other kinds of runs name their schema and their files of lines."""

    schema: ClassVar[str] = STORAGE_RUN
    lines: ClassVar[tuple[str, ...]] = ("transactions", "objects", "rtt", "requests", "steps")

    def __init__(self, path: Path, state: Record) -> None:
        self.path = path
        self.state = state
        self._lock = _lock(path)
        self._files = {name: open_to_append(path / f"{name}.jsonl") for name in self.lines}
        self._appending = threading.Lock()

    @classmethod
    def create(cls, path: Path, state: Record) -> Self:
        """Begin a run in a new or empty folder; raises `ProvidersError` for one with something in it."""
        try:
            if path.exists() and any(path.iterdir()):
                raise ProvidersError(f"{path}: there is something in this folder: name a new one with --out")
            make_folder(path)
        except OSError as error:
            raise ProvidersError(f"{path}: {error.strerror}") from error
        folder = cls(path, {"schema": cls.schema, **state})
        folder.write()
        return folder

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Go on with a run that is there; torn last lines are cut off. Raises `ProvidersError`."""
        state = read_run(path)
        for name in cls.lines:
            repair_tail(path / f"{name}.jsonl")
        return cls(path, state)

    def capture_path(self, transaction: int) -> Path:
        """Where the packets of a transaction go."""
        make_folder(self.path / "packets")
        return self.path / "packets" / f"{transaction:04d}.pcap"

    def note(self, **values: Any) -> None:
        """Change `run.json`."""
        self.state.update(values)
        self.write()

    def write(self) -> None:
        """`run.json` as it is now."""
        write_run_state(self.path, self.state)

    def append(self, name: str, record: Mapping[str, Any]) -> None:
        """A line of one of `lines`: in the file, though not yet on the disk."""
        line = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        with self._appending:  # threads of a campaign append to one file
            append_whole(self._files[name], line)

    def sync(self) -> None:
        """All lines are on the disk afterwards."""
        for descriptor in self._files.values():
            os.fsync(descriptor)

    def end(self, status: str, error: str | None, kind: str | None) -> None:
        """The run is over."""
        self.sync()
        self.note(status=status, error=error, error_kind=kind, end_ns=time.time_ns())

    def close(self) -> None:
        """Let others write to the folder."""
        for descriptor in self._files.values():
            os.close(descriptor)
        os.close(self._lock)


def read_run(path: Path, schema: str = STORAGE_RUN, command: str = "vmtrace storage") -> Record:
    """`run.json` of a run; raises `ProvidersError` where there is none that this command made."""
    try:
        return read_run_state(path, schema, command)
    except RunStateError as error:
        raise ProvidersError(str(error)) from error


def lock_run(path: Path) -> int:
    """Hold the folder of a run that is there; raises `ProvidersError` while somebody else does."""
    return _lock(path)


def _lock(path: Path) -> int:
    try:
        return hold_folder(path)
    except BlockingIOError:
        raise ProvidersError(f"{path}: another vmtrace is writing to this run: wait for its end") from None
