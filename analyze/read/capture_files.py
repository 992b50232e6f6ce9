"""Which files to read: names, glob patterns and folders (where captures are known by their first bytes)."""

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vmtrace.analyze.read.stores import is_url

INDEX_ENDING = ".vmtrace-index"
"""Of the index that lies beside a capture (`vmtrace.analyze.read.index_file`)."""

STANDARD_INPUT = "-"

_MAGICS = (
    b"\xa1\xb2\xc3\xd4",  # pcap, microseconds
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",  # pcap, nanoseconds
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\xcd\x34",  # pcap as patched by Kuznetzov
    b"\x34\xcd\xb2\xa1",
    b"\x0a\x0d\x0d\x0a",  # pcapng section header block
    b"snoop\x00",
)
_COMPRESSED_MAGICS = (
    b"\x1f\x8b",  # gzip
    b"\x28\xb5\x2f\xfd",  # zstd
    b"\xfd7zXZ\x00",  # xz
    b"\x04\x22\x4d\x18",  # lz4 frame
    b"BZh",  # bzip2
)
_CAPTURE_NAMES = (".pcap", ".pcapng", ".cap", ".dmp", ".dump", ".trc", ".erf")


class FilesFound(NamedTuple):
    """The files to read, in order, and one line for each name that led to none and for what could not be opened."""

    paths: tuple[str, ...]
    problems: tuple[str, ...]


def find(names: Iterable[str], endpoint_url: str | None = None) -> FilesFound:
    """Resolve what was named on the command line. A file named outright is taken whatever it holds.

    One that several names lead to (`./x.pcap`, a link `latest.pcap`) is taken once, by the first of them. Objects of a
    store (at `endpoint_url`, if that is given) come with their sizes and versions.
    """
    paths: dict[str, None] = {}
    problems: list[str] = []
    for name in names:
        matched, wrong = _objects(name, endpoint_url) if is_url(name) else _resolve(name)
        paths.update(dict.fromkeys(matched))
        problems += wrong
    once: dict[object, str] = {}
    for path in paths:
        once.setdefault(_identity(path), path)
    return FilesFound(tuple(once.values()), tuple(problems))


def captures_of(sources: Iterable[Any]) -> list[Any]:
    """The captures that lists, folders and patterns stand for; anything else is a source as it is.

    Raises `FileNotFoundError` for a folder or a pattern without any.
    """
    found = list[Any]()
    for source in sources:
        if isinstance(source, (list, tuple)):
            found += captures_of(source)
        elif _stands_for_several(source):
            there = find([str(source)])
            if not there.paths:
                raise FileNotFoundError(errno.ENOENT, "; ".join(there.problems) or "no captures", str(source))
            found += there.paths
        else:
            found.append(source)
    return found


def _stands_for_several(source: object) -> bool:
    """True of a folder, and of a pattern that is no file's name."""
    if not isinstance(source, (str, Path)) or "://" in str(source):
        return False
    try:
        return Path(source).is_dir() or (any(one in str(source) for one in "*?[") and not Path(source).exists())
    except (OSError, ValueError):  # no name of a file: whoever opens it says so
        return False


def _objects(url: str, endpoint_url: str | None) -> tuple[Sequence[str], list[str]]:
    from vmtrace.analyze.read.stores import PlaceError, listing

    try:
        found = listing.find(url, endpoint_url)
    except OSError as error:
        return [], [f"{error.filename}: {error.strerror}" if error.strerror else str(error)]
    except PlaceError as error:
        return [], [str(error)]
    # What vmtrace wrote beside captures is none.
    found = [one for one in found if not one.endswith(INDEX_ENDING)]
    return found, [] if found else [f"{url}: no object matches; a prefix ends with a slash, a pattern has a *"]


def _identity(path: str) -> object:
    """What is equal for all names of a file."""
    if is_url(path):
        return str(path)
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        return path
    return (state.st_dev, state.st_ino) if stat.S_ISREG(state.st_mode) and path != STANDARD_INPUT else path


def _resolve(name: str) -> tuple[list[str], list[str]]:
    if name == STANDARD_INPUT:
        return [name], []
    if not name:
        return [], ["an empty name is not a file: give a capture, a folder or a pattern"]
    path = Path(name)
    try:
        if path.is_dir():
            return _in_folder(path)
        if not os.path.lexists(path):
            return _matching(name)
    except OSError as error:
        return [], [f"{name}: {error.strerror}"]
    return [name], []


def _matching(name: str) -> tuple[list[str], list[str]]:
    """The files of a pattern; a name that is no pattern stays, to be told of when it is opened."""
    import glob

    if not glob.has_magic(name):
        return [name], []
    matched = sorted(m for m in glob.glob(name, recursive=True) if Path(m).is_file())  # noqa: PTH207 - Path.glob takes no absolute pattern
    return matched, [] if matched else [f"{name}: no file matches this pattern"]


def _in_folder(folder: Path) -> tuple[list[str], list[str]]:
    found: list[str] = []
    unreadable: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=unreadable.append):
        # os.walk goes where this list says: sorted, so that the order of the inputs does not depend on the disk.
        folders.sort()
        for path in (Path(parent, file) for file in sorted(files)):
            try:
                if _starts_as_capture(path):
                    found.append(str(path))
            except OSError as error:
                # Of a file that nobody may read only the name says what it is.
                if _named_as_capture(path):
                    unreadable.append(error)
    problems = [f"{error.filename}: {error.strerror}" for error in unreadable]
    return found, problems if found or problems else [f"{folder}: no capture files in this folder"]


def is_capture(path: Path) -> bool:
    """True if the file starts as a capture does; a compressed one, and ERF, must also have a capture's name."""
    try:
        return _starts_as_capture(path)
    except OSError:
        return False


def _starts_as_capture(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(6)
    if head.startswith(_MAGICS):
        return True
    # ERF has no magic number.
    return _named_as_capture(path) and (
        head.startswith(_COMPRESSED_MAGICS) or (path.suffix.lower() == ".erf" and any(head))
    )


def _named_as_capture(path: Path) -> bool:
    return any(part.lower() in _CAPTURE_NAMES for part in path.suffixes[-2:])
