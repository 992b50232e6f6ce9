"""Files of a run folder, read and written: never outside of it, never more than a run can have, whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from vmtrace.cloudwatch.errors import CloudWatchError

MOST_BYTES = 1 << 28
_FILE_MODE = 0o600  # they describe somebody's machines


def read(folder: Path, name: str) -> bytes | None:
    """What a file of the folder holds; None if there is none."""
    path = folder / name
    if not path.exists():
        return None
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise CloudWatchError(f"{path}: not a file of the run folder")
    return read_any(path)


def read_any(path: Path) -> bytes:
    """What a file holds; too much is refused."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise CloudWatchError(f"{path}: more than {MOST_BYTES >> 20} MiB: no file of metrics is so large")
    return content


def write_aside(path: Path, data: bytes) -> None:
    """Put `data` at `path`: afterwards it is there whole and on the disk, or what was there before is untouched."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.aside")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _FILE_MODE), "wb") as file:
            os.fchmod(file.fileno(), _FILE_MODE)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        with suppress(OSError):  # the failure that brought us here is the one to tell
            aside.unlink()
        raise


def append_line(path: Path, text: str) -> None:
    """Append a line and wait until it is on the disk. A last line that was torn by a crash goes first: with it the new
    one would be unreadable."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, _FILE_MODE), "a+b") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(text.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def lines(content: bytes) -> list[bytes]:
    """The whole lines; a last one that was torn by a crash is left out."""
    return content[: content.rfind(b"\n") + 1].split(b"\n")[:-1]
