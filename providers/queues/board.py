"""What the processes of a stage share: counters, one slot for each process, and a byte for each message and event.

A file in the run folder that all of them map: a process that is killed leaves its counts behind. Each counter has one
writer. What was used of the budget is added up under the file's lock, so that the limits are never exceeded.
"""

import fcntl
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Self

SLOTS = 256
_WORD = struct.Struct("<Q")
_SLOT_BYTES = 128
_COUNTED_AT_ONCE = 1 << 20


class Counter(IntEnum):
    """What each process counts."""

    ATTEMPTED = 0
    SENT = 1
    RECEIVED = 2
    """Messages that were delivered for the first time in this stage."""
    DELIVERIES = 3
    DELETED = 4
    """Messages that were deleted for the first time in this stage."""
    FOREIGN = 5
    ERRORS = 6
    REQUESTS = 7
    """As the service charges them."""
    UPLOADED_BYTES = 8
    DOWNLOADED_BYTES = 9
    RESIDENT_BYTES = 10


class Plane(IntEnum):
    """What is known of each message."""

    RECEIVED = 0
    DELETED = 1


class Board:
    """A mapped file. `messages` are numbered from 0 here: the caller takes the stage's first number off."""

    def __init__(self, path: Path, messages: int) -> None:
        self._messages = messages
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        size_bytes = SLOTS * _SLOT_BYTES + len(Plane) * messages
        if os.fstat(self._descriptor).st_size < size_bytes:
            os.ftruncate(self._descriptor, size_bytes)
        self._map = mmap.mmap(self._descriptor, size_bytes)
        self._words = memoryview(self._map)[: SLOTS * _SLOT_BYTES].cast("Q")

    def add(self, slot: int, counter: Counter, more: int = 1) -> None:
        """Count; the slot's process alone may."""
        self.put(slot, counter, self.of(slot, counter) + more)

    def put(self, slot: int, counter: Counter, value: int) -> None:
        """Set a counter; the slot's process alone may."""
        _WORD.pack_into(self._map, slot * _SLOT_BYTES + counter * _WORD.size, value)

    def of(self, slot: int, counter: Counter) -> int:
        """A counter of one process."""
        value: int = _WORD.unpack_from(self._map, slot * _SLOT_BYTES + counter * _WORD.size)[0]
        return value

    def total(self, counter: Counter) -> int:
        """A counter of all processes."""
        return sum(self._words[counter :: _SLOT_BYTES // _WORD.size])

    def mark(self, plane: Plane, message: int) -> bool:
        """Note that it happened to a message; returns whether it was the first time."""
        place = SLOTS * _SLOT_BYTES + plane * self._messages + message
        first = not self._map[place]
        self._map[place] = 1
        return first

    def marked(self, plane: Plane) -> int:
        """Of how many messages it is noted."""
        first = SLOTS * _SLOT_BYTES + plane * self._messages
        ends = first + self._messages
        return sum(
            self._map[start : min(start + _COUNTED_AT_ONCE, ends)].count(1)
            for start in range(first, ends, _COUNTED_AT_ONCE)
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other processes from this block."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        self._words.release()
        self._map.close()
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
