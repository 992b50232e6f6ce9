"""The receiver's half of a run comes into the run folder: file by file, written aside, verified, kept if it is here.

No name comes from the receiver: it says what a file is about; where that lies is decided here
(`vmtrace.sender.wire.names`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable

from vmtrace.capture.interruption import Interruption
from vmtrace.formats.durable import make_folder, write_all
from vmtrace.sender.far_side import FarControl
from vmtrace.sender.wire.errors import ReceiverRefused, WireError
from vmtrace.sender.wire.names import RECEIVER, path_of
from vmtrace.sender.wire.program import describe
from vmtrace.sender.wire.records import RemoteFile

COMPLETE, PARTIAL, MISSING = "complete", "partial", "missing"
_BLOCK_BYTES = 1 << 20
_SPARE_BYTES = 16 << 20
_AHEAD = 16
"""Files that are asked for ahead: on a long path, small files would cost a round trip each."""


@dataclass(frozen=True)
class ReceiverHalf:
    """What of the receiver's files is here."""

    status: str
    files: int
    bytes: int
    error: str | None = None

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return asdict(self)


def missing_half(error: str) -> ReceiverHalf:
    """None of it could be had."""
    return ReceiverHalf(MISSING, 0, 0, error)


def fetch_half(
    control: FarControl, folder: Path, interruption: Interruption, show: Callable[[int, int], None]
) -> ReceiverHalf:
    """Get every file that is not here yet. What fails is in the result; raises `OSError` only for our disk."""
    files = 0
    fetched_bytes = 0
    try:
        with interruption.allowed():
            announced = control.files()
        _check_room(folder, announced)
        due = [file for file in announced if not _is_here(folder / _place(file), file)]
        files = len(announced) - len(due)
        fetched_bytes = sum(file.bytes for file in announced) - sum(file.bytes for file in due)
        for position, file in enumerate(due):
            show(files, len(announced))
            coming = due[position + 1 : position + 1 + _AHEAD]
            _fetch_file(control, folder / _place(file), (file, coming), interruption)
            files += 1
            fetched_bytes += file.bytes
    except (WireError, ValueError) as error:
        return ReceiverHalf(PARTIAL if files else MISSING, files, fetched_bytes, describe(error))
    return ReceiverHalf(COMPLETE, files, fetched_bytes)


def _place(file: RemoteFile) -> Path:
    return path_of(file.kind, file.sequence, file.part, RECEIVER)


def _check_room(folder: Path, files: list[RemoteFile]) -> None:
    needed_bytes = sum(file.bytes for file in files if not _is_here(folder / _place(file), file, look_inside=False))
    free_bytes = shutil.disk_usage(folder).free
    if needed_bytes + _SPARE_BYTES > free_bytes:
        raise ValueError(
            f"{folder}: the receiver's files need {needed_bytes:,} bytes and {free_bytes:,} are free: make room"
        )


_Wanted = tuple[RemoteFile, Sequence[RemoteFile]]
"""A file, and those that will be fetched next."""


def _fetch_file(control: FarControl, path: Path, wanted: _Wanted, interruption: Interruption) -> None:
    make_folder(path.parent)
    try:
        _write_aside(control, path, wanted, interruption)
    except ReceiverRefused:  # it changed meanwhile, as the receiver's own log may
        with interruption.allowed():
            again = _as_it_is_now(control, wanted[0])
        _write_aside(control, path, (again, ()), interruption)


def _as_it_is_now(control: FarControl, file: RemoteFile) -> RemoteFile:
    for other in control.files():
        if _place(other) == _place(file):
            return other
    raise ReceiverRefused(f"the receiver has {_place(file)} no more")


def _write_aside(control: FarControl, path: Path, wanted: _Wanted, interruption: Interruption) -> None:
    file, coming = wanted
    aside = path.with_name(f".{path.name}.fetching")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with interruption.allowed():
            control.fetch(file, lambda piece: write_all(descriptor, piece), coming)
        os.fsync(descriptor)
        aside.replace(path)
    except BaseException:
        with suppress(OSError):  # the failure that brought us here is the one to tell
            aside.unlink()
        raise
    finally:
        os.close(descriptor)


def _is_here(path: Path, file: RemoteFile, *, look_inside: bool = True) -> bool:
    try:
        if path.stat().st_size != file.bytes:
            return False
        return not look_inside or _sha256(path) == file.sha256
    except FileNotFoundError:
        return False


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(_BLOCK_BYTES), b""):
            digest.update(block)
    return digest.hexdigest()
