"""Output files that are either whole or not there: written aside, then renamed; readable by their owner alone.

Captures hold other people's traffic, so what is derived from them is created with mode 0600.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from vmtrace.analyze.read.capture_files import is_capture
from vmtrace.formats import STANDARD_OUTPUT


@contextmanager
def writing(path: Path, *, over_a_capture: bool = False) -> Iterator[BinaryIO]:
    """Open `path` for writing; it appears, whole, when the block ends well, and is left as it was if not.

    `-` is standard output. A device or a pipe (`/dev/stdout`, a named pipe) is written directly: there is nothing to
    rename. A capture is not replaced unless its user has said so, it may be the only one of its traffic:
    `FileExistsError`.
    """
    if str(path) == STANDARD_OUTPUT:
        try:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except OSError as error:
            error.filename = "standard output"
            raise
        return
    if not over_a_capture and is_capture(path):
        raise FileExistsError(errno.EEXIST, "this is a capture, which is not overwritten", str(path))
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as out:
                yield out
        except OSError as error:
            error.filename = str(path)
            raise
        return
    # Through a symbolic link the file it names is replaced, not the link.
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # links in a circle: a RuntimeError before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    # Not the target's name with more to it, which may be as long as a name can be.
    aside = target.with_name(f".vmtrace-{os.urandom(8).hex()}.part")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        aside.replace(target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            aside.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(aside)):
            error.filename = str(path)
        raise


def make_folder(path: Path) -> None:
    """Create a folder for output (mode 0700) with its parents, if it is not there.

    Raises `NotADirectoryError` where something else has its name or that of a parent.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, "not a folder; name one to write into", str(path)) from None
