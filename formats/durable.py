"""Files that survive a crash: written aside and renamed, or appended to line by line, with their owner's rights only.

What a file says is its writer's business. A failure is an OSError that names the path; the target is then as it was.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_TAIL_BLOCK_BYTES = 65_536


def write_aside(path: Path, data: bytes) -> None:
    """Put `data` at `path`: afterwards it is there whole and on the disk, or what was there before is untouched."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.aside")
    with _naming(path):
        try:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _FILE_MODE)
            try:
                os.fchmod(descriptor, _FILE_MODE)
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            aside.replace(path)
        except BaseException:
            with suppress(OSError):  # the failure that brought us here is the one to tell
                aside.unlink()
            raise
        _sync_folder(path.parent)


def hold_folder(path: Path) -> int:
    """A descriptor that keeps others from holding the folder until it is closed; `BlockingIOError` while they do."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        pass  # a file system without locks (some network mounts): there, taking care is the user's
    return descriptor


def append_line(path: Path, text: str) -> None:
    """Append one line (the newline is added) and wait until it is on the disk; what did not fit is cut off again."""
    if "\n" in text:
        raise ValueError(f"{path}: a line to append has a newline in it")
    with _naming(path):
        new = not path.exists()
        descriptor = open_to_append(path)
        try:
            append_whole(descriptor, text.encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            _sync_folder(path.parent)


def read_lines(path: Path) -> list[str]:
    """The whole lines of a file, without their newlines; a last line that was torn by a crash is left out."""
    with _naming(path):
        data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1].decode("utf-8", "replace").split("\n")[:-1]


def repair_tail(path: Path) -> int:
    """Cut off a torn last line, so that appending begins a line; returns how many bytes went (0 without a file)."""
    with _naming(path):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        try:
            length = os.fstat(descriptor).st_size
            whole = _end_of_last_line(descriptor, length)
            if whole < length:
                os.ftruncate(descriptor, whole)
                os.fsync(descriptor)
            return length - whole
        finally:
            os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder (and those above it) that only its owner may enter; one that is there stays as it is."""
    with _naming(path):
        if path.is_dir():
            return
        if path.parent != path:
            make_folder(path.parent)
        try:
            path.mkdir(mode=_FOLDER_MODE)
        except FileExistsError:
            if not path.is_dir():
                raise
        _sync_folder(path.parent)


def open_to_append(path: Path) -> int:
    """A descriptor that appends to `path`, made with its owner's rights only if it is new."""
    with _naming(path):
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _FILE_MODE)


def append_whole(descriptor: int, data: bytes) -> None:
    """Append all of `data` or, when the disk is full, nothing: what went in before the failure is cut off again."""
    before = os.fstat(descriptor).st_size
    try:
        write_all(descriptor, data)
    except OSError:
        with suppress(OSError):  # readers drop a torn line, should even this fail
            os.ftruncate(descriptor, before)
        raise


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: one system call, unless the kernel takes less than it was given."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Give an OSError the path it is about, where the system call knew only a descriptor or the file aside."""
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        raise OSError(number, error.strerror or os.strerror(number), str(path)) from error


def _sync_folder(folder: Path) -> None:
    """Make the folder's new entries durable; a file system that cannot (EINVAL) is left to its ways."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(descriptor)


def _end_of_last_line(descriptor: int, length: int) -> int:
    end = length
    while end > 0:
        start = max(0, end - _TAIL_BLOCK_BYTES)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
