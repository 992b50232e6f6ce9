"""The receiver's half of a run on its own disk, below one folder for each run.

Runs are named by the receiver (32 random hexadecimal digits); a client can only name one that is there. All paths
below are made from checked words by `vmtrace.sender.wire.names`.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vmtrace.formats.durable import append_line, make_folder, repair_tail, write_aside
from vmtrace.sender.wire.names import RECEIVER, path_of, what_is
from vmtrace.sender.wire.records import RemoteFile

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_PIECE_BYTES = 256 << 10
_FOLDERS = ("packets", "tcpinfo", "host")


class NoSuchRun(ValueError):  # noqa: N818
    """A client named a run that is not here."""


@dataclass(frozen=True)
class StoredRun:
    """One run's folder."""

    run_id: str
    folder: Path

    def path(self, kind: str, sequence: int, part: str) -> Path:
        """Where a file goes; its folder is made."""
        path = self.folder / path_of(kind, sequence, part, RECEIVER)
        make_folder(path.parent)
        return path

    def repair(self) -> None:
        """Drop what a crash left half written; nobody else may write to the run."""
        repair_tail(self.folder / path_of("transfers", 0, "", RECEIVER))

    def log_transfer(self, record: dict[str, object]) -> None:
        """Append to the receiver's own log of transfers."""
        append_line(self.folder / path_of("transfers", 0, "", RECEIVER), json.dumps(record))

    def files(self) -> list[Path]:
        """All files of this half, by name, below the run's folder."""
        names = [path.relative_to(self.folder) for path in self._candidates()]
        return sorted(name for name in names if what_is(name, RECEIVER) is not None)

    def describe(self, number: int, name: Path) -> RemoteFile:
        """Size and digest of one of `files`, as it is now."""
        what = what_is(name, RECEIVER)
        if what is None:
            raise ValueError(f"{name} is not a file of a run")
        seen, count = hashlib.sha256(), 0
        for piece in self.pieces(name):
            seen.update(piece)
            count += len(piece)
        kind, sequence, part = what
        return RemoteFile(number, kind, sequence, part, count, seen.hexdigest())

    def pieces(self, name: Path) -> Iterator[bytes]:
        """Content of one of `files`."""
        with (self.folder / name).open("rb") as file:
            while True:
                piece = file.read(_PIECE_BYTES)
                if not piece:
                    return
                yield piece

    def _candidates(self) -> Iterator[Path]:
        yield from (path for path in self.folder.glob("*.jsonl") if path.is_file())
        for folder in _FOLDERS:
            yield from (path for path in (self.folder / folder).rglob("*") if path.is_file() and not path.is_symlink())


class Storage:
    """All runs of a receiver."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def new_run(self) -> StoredRun:
        """Make a folder for a new run."""
        run_id = secrets.token_hex(16)
        run = StoredRun(run_id, self.folder / run_id)
        make_folder(run.folder)
        record = {"schema": "vmtrace.receiver_run/1", "id": run_id, "start_ns": time.time_ns()}
        write_aside(run.folder / "receiver.json", json.dumps(record).encode() + b"\n")
        return run

    def existing_run(self, run_id: str) -> StoredRun:
        """A run that is here. Raises `NoSuchRun` for any other name, whatever it contains."""
        if not _RUN_ID.fullmatch(run_id) or not (self.folder / run_id / "receiver.json").is_file():
            raise NoSuchRun("this receiver has no such run: was it started with another --out?")
        return StoredRun(run_id, self.folder / run_id)
