"""Hands the receiver's half of a run to the sender: a list, descriptions, contents."""

from __future__ import annotations

import time
from pathlib import Path

from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.storage import StoredRun
from vmtrace.sender.wire.channel import Channel
from vmtrace.sender.wire.records import FileDescriptions, FileListing

_DESCRIBING_S = 1.0
_DESCRIBED_FILES = 256


class FileDesk:
    """Files of one run, numbered when they were listed."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._names: list[Path] = []
        self._bytes: dict[int, int] = {}

    def list(self) -> FileListing:
        """Number the files that are there now."""
        self._names, self._bytes = self._run.files(), {}
        return FileListing(len(self._names))

    def describe(self, first: int) -> FileDescriptions:
        """Sizes and digests, from file `first` on, of as many as can be read in about a second."""
        began_s = time.monotonic()
        described = []
        for number in range(max(first, 0), min(len(self._names), first + _DESCRIBED_FILES)):
            described.append(self._run.describe(number, self._names[number]))
            self._bytes[number] = described[-1].bytes
            if time.monotonic() - began_s > _DESCRIBING_S:
                break
        return FileDescriptions(tuple(described))

    def check(self, number: int, count: int) -> None:
        """Raise `Refusal` unless the first `count` bytes of a file can be sent: it was described as that long."""
        self.name(number)
        if not 0 <= count <= self._bytes.get(number, -1):
            raise Refusal(f"file {number} was not described as {count} bytes long: describe it first")

    def send(self, number: int, count: int, channel: Channel) -> None:
        """Send `count` bytes of a file; one that is shorter by now is filled up, so that its digest tells."""
        left = count
        for piece in self._run.pieces(self.name(number)):
            if left == 0:
                return
            channel.send_bytes(piece[:left])
            left -= min(len(piece), left)
        while left > 0:
            filler = bytes(min(left, 1 << 16))
            channel.send_bytes(filler)
            left -= len(filler)

    def name(self, number: int) -> Path:
        """A file by its number; raises `Refusal` for one that was not listed."""
        found: Path | None = self._names[number] if 0 <= number < len(self._names) else None
        if found is None or not (self._run.folder / found).is_file():
            raise Refusal(f"there is no file {number}: list the files first")
        return found
