"""Which captures a corpus has: their names, what tells one version from another, and when each starts.

Captures are numbered in the order of their names. What is no capture is left out and reported.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.analyze import _engine
from vmtrace.analyze.read import capture_files
from vmtrace.analyze.read.stores.listing import ObjectUrl
from vmtrace.analyze.read.stores.remote import RemoteObject
from vmtrace.corpus.engine import header_of

_HEAD_BYTES = 64 << 10
_AT_ONCE = 16
MOST_INPUTS = 1 << 16
"""Packets carry the number of their capture in two bytes."""


@dataclass(frozen=True, slots=True)
class Input:
    """A capture."""

    name: str
    size_bytes: int
    version: str
    """ETag of an object, time of the last change of a file."""
    endpoint_url: str | None = None

    @property
    def engine_input(self) -> Any:
        """As the engine reads it."""
        return RemoteObject(self._object) if self.is_object else self.name

    @property
    def is_object(self) -> bool:
        """It lies in a store."""
        return "://" in self.name

    @property
    def _object(self) -> ObjectUrl:
        return ObjectUrl(self.name, self.size_bytes, self.version or None, self.endpoint_url)

    def head(self) -> bytes:
        """Its first bytes."""
        if self.is_object:
            from vmtrace.analyze.read.stores.reader import get_range

            return bytes(get_range(self._object, 0, min(_HEAD_BYTES, self.size_bytes)))
        with Path(self.name).open("rb") as file:
            return file.read(_HEAD_BYTES)


@dataclass(frozen=True, slots=True)
class CapturesFound:
    """The captures in the order of their names, when each starts (None: unknown), and one line for each problem."""

    inputs: tuple[Input, ...]
    starts_ns: tuple[int | None, ...]
    problems: tuple[str, ...]


def find(names: Sequence[str], endpoint_url: str | None) -> CapturesFound:
    """Look at all that is named. Nothing is raised for one that cannot be read: it is among the problems."""
    found = capture_files.find(names, endpoint_url)
    inputs, problems = [], list(found.problems)
    for path in sorted(found.paths):
        try:
            inputs.append(_input(path))
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        starts = list(pool.map(_start_ns, inputs))
    good = [(one, start) for one, start in zip(inputs, starts, strict=True) if not isinstance(start, str)]
    problems += [start for start in starts if isinstance(start, str)]
    return CapturesFound(tuple(one for one, _ in good), tuple(start for _, start in good), tuple(problems))


def _input(path: str) -> Input:
    if isinstance(path, ObjectUrl):
        return Input(str(path), path.size_bytes, path.etag or "", path.endpoint_url)
    state = Path(path).stat()
    return Input(str(Path(path).absolute()), state.st_size, str(state.st_mtime_ns))


def check_unchanged(inputs: Sequence[Input]) -> None:
    """Raises `OSError` if a file is another than was planned with; of objects each request says it."""
    for one in inputs:
        if not one.is_object and _input(one.name) != one:
            raise OSError(f"{one.name}: it was changed while it was read: analyse a copy of it")


def _start_ns(one: Input) -> int | str | None:
    """When a capture starts, as its first bytes have it; a line that says why it is none."""
    try:
        split, *_ = _engine.split([(one.head(), one.name)], lambda *_: None, buckets=1, room_bytes=1)
    except _engine.TraceError as error:
        return f"{one.name}: {error.reason}; left out"
    except OSError as error:
        return f"{one.name}: {error.strerror or error}; left out"
    start: int | None = header_of(split, [one.name])[0]["start_ns"]
    return start
