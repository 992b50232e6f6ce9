"""Packets from libpcap into files: counts, rotation, and the end of each file. When to read is decided in `recorder`.

A file that is over is walked, synced and given its health in a thread of its own, so that packets go on into the next.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from vmtrace.capture.capture_file import CaptureFile, Contents
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.health import CaptureHealth, health_path, reserve, write_health
from vmtrace.capture.libpcap import Stats
from vmtrace.capture.offload import read_offload
from vmtrace.capture.opening import Opened
from vmtrace.capture.rotation import Rotation
from vmtrace.capture.settings import CaptureSettings

# Packets that one call of libpcap may write before the thread looks up: some 20 ms of work.
_MOST_AT_ONCE = 20_000
_COUNTS_EVERY_S = 0.1
_COUNTER_MODULUS = 1 << 32  # libpcap counts in 32 bits
_NOTHING = Stats(0, 0, 0)
_KILLED = "the recording was not finished: the file holds what came before"


@dataclass(frozen=True)
class Progress:
    """How far a recording is. Counts are of all files together, some 0.1 s old."""

    written: int
    size_bytes: int
    received: int
    dropped: int
    files: int


@dataclass(frozen=True)
class _Begun:
    """A file, and what the clock and the counters said when it began."""

    file: CaptureFile
    start_ns: int
    since_s: float
    before: Stats


class Writer:
    """Takes packets into the current file. Used by one thread, except `progress`, which any may look at."""

    def __init__(self, settings: CaptureSettings, path: Path, rotation: Rotation, opened: Opened) -> None:
        """Begin the first file.

        Raises:
            CaptureError: it cannot be written.
        """
        self._settings, self._path, self._rotation, self._opened = settings, path, rotation, opened
        self._offload = read_offload(settings.interface)
        self._counters = Counters(opened.before)
        self._counted_s = 0.0
        self._finished: list[_Finishing] = []
        self._finished_bytes = 0
        self.written = 0
        self.more_waiting = False
        self.progress = Progress(0, 0, 0, 0, 1)
        self._now = self._begun(opened.start_ns, _NOTHING)

    def read(self, most: int | None) -> int:
        """Write what is ready, at most so many packets; rotate if it is time; returns how many were written.

        Raises:
            CaptureError: the capture or the file cannot go on; what could be written is.
        """
        file = self._now.file
        allowed = _MOST_AT_ONCE if most is None else min(most, _MOST_AT_ONCE)
        allowed = self._rotation.packets_until_due(file.size_bytes, file.written, allowed)
        records = self._opened.live.dispatch(file.dumper, allowed)
        self.written += records
        file.wrote(records)
        self.more_waiting = records >= allowed
        now_s = time.monotonic()
        if now_s - self._counted_s >= _COUNTS_EVERY_S:
            self._counted_s = now_s
            self._count()
        if self._rotation.due(file.size_bytes, now_s - self._now.since_s):
            self._rotate()
        return records

    def complete(self) -> bool:
        """Whether all that the kernel received and kept is written; never true where that cannot be counted."""
        self._count()
        total = self._counters.total
        return self._opened.exact and self.written >= total.received - total.dropped_by_kernel

    def end(self, error: str | None) -> None:
        """Finish the last file."""
        try:
            self._count()
        except CaptureError as trouble:
            error = error or str(trouble)
        self._finish(error)

    def healths(self) -> list[CaptureHealth]:
        """One for each file, when all of them are finished."""
        return [finishing.health() for finishing in self._finished]

    def _rotate(self) -> None:
        self._count()
        # The next one first: if it cannot be had, the recording ends with what is in this one.
        following = self._begun(time.time_ns(), self._counters.total)
        self._finish(None)
        self._now = following

    def _count(self) -> None:
        self._counters.update(self._opened.live.stats())
        total = self._counters.total
        self.progress = Progress(
            self.written,
            self._finished_bytes + self._now.file.size_bytes,
            total.received,
            total.dropped_by_kernel + total.dropped_by_interface,
            len(self._finished) + 1,
        )

    def _begun(self, start_ns: int, before: Stats) -> _Begun:
        # The first file is number 1; while one is current it is not among the finished.
        number = len(self._finished) + (2 if hasattr(self, "_now") else 1)
        path = self._rotation.path(self._path, number)
        begun = _Begun(CaptureFile(self._opened.live, path), start_ns, time.monotonic(), before)
        if begun.file.regular:
            try:
                reserve(health_path(path), self._health(begun, None, _KILLED))
            except OSError as error:
                begun.file.close()
                raise CaptureError(f"{health_path(path)}: cannot be written: {error.strerror}") from error
        return begun

    def _finish(self, error: str | None) -> None:
        health = self._health(self._now, time.time_ns(), error)
        self._finished_bytes += self._now.file.size_bytes
        self._finished.append(_Finishing(self._now.file, health))

    def _health(self, begun: _Begun, end_ns: int | None, error: str | None) -> CaptureHealth:
        """All but the contents of the file."""
        live, total, before = self._opened.live, self._counters.total, begun.before
        return CaptureHealth(
            file=begun.file.path.name,
            interface=self._settings.interface,
            filter=self._opened.filter,
            direction=self._settings.direction,
            snaplen=self._opened.snaplen,
            buffer_bytes=self._opened.buffer_bytes,
            link_type=live.link_type_name,
            time_source=live.time_source,
            time_resolution_s=1e-9 if live.nanoseconds else 1e-6,
            received=total.received - before.received,
            dropped_by_kernel=total.dropped_by_kernel - before.dropped_by_kernel,
            dropped_by_interface=total.dropped_by_interface - before.dropped_by_interface,
            written=begun.file.written,
            captured_bytes=None,
            wire_bytes=None,
            first_packet_ns=None,
            last_packet_ns=None,
            start_ns=begun.start_ns,
            end_ns=end_ns,
            offload=self._offload,
            warnings=self._opened.warnings,
            error=error,
        )


class Counters:
    """libpcap's counts since a recording began, past the end of their 32 bits."""

    def __init__(self, before: Stats) -> None:
        self._last = before
        self.total = _NOTHING

    def update(self, now: Stats) -> None:
        """Take new readings."""
        grown = [(new - old) % _COUNTER_MODULUS for new, old in zip(now, self._last)]
        self.total = Stats(*(total + more for total, more in zip(self.total, grown)))
        self._last = now


class _Finishing:
    """The end of a file, under way in its own thread."""

    def __init__(self, file: CaptureFile, health: CaptureHealth) -> None:
        self._file, self._health = file, health
        self._thread = threading.Thread(target=self._run, name=f"end of {file.path.name}")
        self._thread.start()

    def health(self) -> CaptureHealth:
        """The whole health, when the file and it are on the disk."""
        self._thread.join()
        return self._health

    def _run(self) -> None:
        try:
            self._health = _with_contents(self._health, self._file.finish())
        except OSError as error:
            self._health = _with_error(self._health, f"{self._file.path}: {error.strerror}")
        if not self._file.regular:
            return
        path = health_path(self._file.path)
        try:
            write_health(path, self._health)
        except OSError as error:
            self._health = _with_error(self._health, f"{path}: {error.strerror}")


def _with_contents(health: CaptureHealth, contents: Contents) -> CaptureHealth:
    return replace(
        health,
        written=contents.written,
        captured_bytes=contents.captured_bytes,
        wire_bytes=contents.wire_bytes,
        first_packet_ns=contents.first_packet_ns,
        last_packet_ns=contents.last_packet_ns,
    )


def _with_error(health: CaptureHealth, error: str) -> CaptureHealth:
    return replace(health, error=f"{health.error}; {error}" if health.error else error)
