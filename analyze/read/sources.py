"""What a capture may be given as, made into what the engine reads: a path, or a capture's bytes.

What can be read only once (standard input, a pipe, a stream of Python's) is copied into a temporary file where its
packets will be wanted later.
"""

import os
import stat
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

from vmtrace.analyze.read.capture_files import STANDARD_INPUT
from vmtrace.analyze.read.stores import is_url
from vmtrace.analyze.read.stores.remote import RemoteObject

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""A path (`-`: standard input), the URL of an object, the bytes of a capture, or a file opened in binary mode."""

Data = str | os.PathLike[str] | bytes | RemoteObject
"""What the engine reads."""

Progress = Callable[[int], object]
"""Called about 20 times a second with the bytes consumed so far."""

_COPIED_AT_ONCE_BYTES = 1 << 20


class Opened(NamedTuple):
    """One input."""

    data: Data
    name: str
    """As results and errors show it."""
    file: str | None
    """The file behind it, by its true name; None for what is no file of the user's."""

    @property
    def once(self) -> bool:
        """True for what cannot be read a second time."""
        return self.file is None and not can_be_read_again(self.data)


_OPEN_FILES = Path("/proc/self/fd")
"""Where Linux has the open files of a process, also those that have no name any more."""


class Spool:
    """Temporary files (mode 0600) with the content of streams. They live as long as this does, and no longer than the
    process, however that ends: a capture holds other people's traffic."""

    def __init__(self, progress: Progress | None) -> None:
        self.interrupted = False
        self._progress = progress
        self._copied_bytes = 0

    def copy(self, stream: IO[bytes]) -> str:
        """What to open the copy by. Ctrl-C ends the copying: what had come until then is the capture.

        Raises `OSError` with the folder's name where there is no room for it.
        """
        file, name = self._file()
        read: Callable[[int], Any] = getattr(stream, "read1", stream.read)
        try:
            while not self.interrupted and (chunk := read(_COPIED_AT_ONCE_BYTES)):
                if isinstance(chunk, str):
                    raise TypeError("a capture is not text: open it in binary mode")
                _append(chunk, file)
                self._copied_bytes += len(chunk)
                if self._progress is not None:
                    self._progress(self._copied_bytes)
        except KeyboardInterrupt:
            self.interrupted = True
        return name

    def _file(self) -> tuple[IO[bytes], str]:
        """A new file that is closed with this, and what to open it by."""
        import tempfile  # takes longer to load than a small capture to read

        file: IO[bytes]
        if _OPEN_FILES.is_dir():
            file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the spool
            name = str(_OPEN_FILES / str(file.fileno()))
        else:
            file = tempfile.NamedTemporaryFile(prefix="vmtrace-", suffix=".capture", buffering=0)  # noqa: SIM115 - the same
            name = file.name
        # Also when the command leaves, which does not take apart what it has.
        weakref.finalize(self, file.close)
        return file, name


def _append(chunk: bytes, file: IO[bytes]) -> None:
    try:
        rest = memoryview(chunk)
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        import tempfile

        what = f"{error.strerror}, where what can be read only once is copied to (TMPDIR names another folder)"
        raise OSError(error.errno, what, tempfile.gettempdir()) from error


def opened(source: Source, spool: Spool, *, keep: bool) -> Opened:
    """What the engine reads for this source; with `keep` something that can be read again.

    Raises `OSError` for a pipe that cannot be opened and `TypeError` for what is no capture's source.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return Opened(bytes(source), "<bytes>", None)
    if isinstance(source, str) and is_url(source):
        from vmtrace.analyze.read.stores.listing import ObjectUrl, head

        url = source if isinstance(source, ObjectUrl) else head(source)
        return Opened(RemoteObject(url), str(url), None)
    if isinstance(source, str | os.PathLike):
        return _of_path(os.fsdecode(source), spool, keep=keep)
    if not hasattr(source, "read"):
        several = "; several are given one by one: read(*captures)" if isinstance(source, list | tuple) else ""
        what = type(source).__name__
        raise TypeError(f"a capture is a path, bytes or a file opened in binary mode, not {what}{several}")
    return Opened(spool.copy(source), str(getattr(source, "name", "<stream>")), None)


def _of_path(path: str, spool: Spool, *, keep: bool) -> Opened:
    if path == STANDARD_INPUT:
        if keep and sys.stdin is None:
            raise OSError("standard input is closed")
        return Opened(spool.copy(sys.stdin.buffer) if keep else path, "<stdin>", None)
    # A name need not be text; results are.
    name = os.fsencode(path).decode(errors="replace")
    if can_be_read_again(path):
        return Opened(path, name, path)
    if not keep:
        return Opened(path, name, None)
    with Path(path).open("rb") as stream:
        return Opened(spool.copy(stream), name, None)


def can_be_read_again(path: Data) -> bool:
    """False for standard input, a pipe and a device: what was read of them is gone."""
    if isinstance(path, bytes | RemoteObject) or is_url(path):
        return True
    if path == STANDARD_INPUT:
        return False
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return True  # whoever opens it will say what is wrong
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
