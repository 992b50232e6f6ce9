"""One pcap file as it is written, and what is in it at the end.

libpcap writes the records; this counts them, keeps the file at whole records when the disk is full, and finds times and
sizes without a look at each packet while packets come: only the record headers are walked, once, when the file is over.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import stat
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.libpcap import Dumper, Live
from vmtrace.formats import STANDARD_OUTPUT

HEADER_BYTES, RECORD_HEADER_BYTES = 24, 16
# A write for each part of the kernel's buffer, instead of one for each 4 KiB.
_STREAM_BUFFER_BYTES = 1 << 20
# The walk over the record headers takes about 0.2 s for so many; of a longer file the bytes on the wire are not told.
_MOST_WALKED = 1_000_000
_ZEROS = bytes(1 << 16)
_RECORD = struct.Struct("=IIII")  # seconds, fraction, captured, length on the wire: written in this machine's order


@dataclass(frozen=True)
class Contents:
    """What is in a file. None where it was not looked for."""

    written: int
    captured_bytes: int | None
    wire_bytes: int | None
    first_packet_ns: int | None
    last_packet_ns: int | None


@dataclass(frozen=True)
class _Walk:
    records: int
    wire_bytes: int
    end: int
    last_packet_ns: int | None


class CaptureFile:
    """A capture file from its header to its end, readable by its owner alone."""

    def __init__(self, live: Live, path: Path) -> None:
        """Begin the file.

        Raises:
            CaptureError: it cannot be written.
        """
        self.path = path
        self.written = 0
        self.size_bytes = HEADER_BYTES
        self._batch_at, self._batch_after = HEADER_BYTES, 0  # the last records: where they begin, records before them
        self._failed = False
        self._unit_ns = 1 if live.nanoseconds else 1000
        self._descriptor = _opened(path)
        # Of a pipe or a device only the number of packets is known, and there is nothing beside it.
        self.regular = path != Path(STANDARD_OUTPUT) and _is_regular(self._descriptor)
        try:
            self.dumper = Dumper(live, self._descriptor, _STREAM_BUFFER_BYTES)
            self.dumper.flush()
        except OSError as error:
            self.close()
            raise CaptureError(f"{path}: cannot be written: {error.strerror}") from error

    def wrote(self, records: int) -> None:
        """Hand the records of the last dispatch to the kernel, so that they outlive this program.

        Raises:
            CaptureError: they could not be written.
        """
        if records == 0:
            return
        self._batch_at, self._batch_after = self.size_bytes, self.written
        self.written += records
        self.flush()

    def flush(self) -> None:
        """As `wrote`, when it is not known how many records came before an error.

        Raises:
            CaptureError: they could not be written.
        """
        try:
            self.dumper.flush()
        except OSError as error:
            number = error.errno or self._why_writing_fails()
            self._failed = True
            raise CaptureError(f"{self.path}: writing failed: {os.strerror(number)}") from error
        if self.regular:
            self.size_bytes = os.fstat(self._descriptor).st_size

    def finish(self) -> Contents:
        """Put the file on the disk, whole records only, and close it.

        Raises:
            OSError: the disk did not take it; the file is closed.
        """
        try:
            if not self.regular:
                return Contents(self.written, None, None, None, None)
            contents = self._walked()
            os.fsync(self._descriptor)
            return contents
        finally:
            self.close()

    def close(self) -> None:
        """Close the file as it is; a second time does nothing."""
        dumper = getattr(self, "dumper", None)
        if dumper is None:
            return
        if self._failed:
            # What stdio could not write it would write now, behind the last whole record.
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self._descriptor, inheritable=False)
            os.close(nowhere)
            self._failed = False
        dumper.close()

    def _why_writing_fails(self) -> int:
        """The error number that libpcap did not tell, found by trying."""
        if not self.regular:
            poller = select.poll()
            poller.register(self._descriptor, 0)
            return errno.EPIPE if poller.poll(0) else errno.EIO
        before = os.fstat(self._descriptor).st_size
        try:
            for _ in range(_STREAM_BUFFER_BYTES // len(_ZEROS)):
                os.pwrite(self._descriptor, _ZEROS, os.fstat(self._descriptor).st_size)
        except OSError as error:
            return error.errno or errno.EIO
        finally:
            os.ftruncate(self._descriptor, before)
        return errno.EIO

    def _walked(self) -> Contents:
        size = os.fstat(self._descriptor).st_size
        with mmap.mmap(self._descriptor, size, access=mmap.ACCESS_READ) as view:
            first = self._time_ns(view, HEADER_BYTES) if size >= HEADER_BYTES + RECORD_HEADER_BYTES else None
            # All records, or those of the last batch: how many whole ones are there, and when was the last?
            from_start = self.written <= _MOST_WALKED
            start, before = (HEADER_BYTES, 0) if from_start else (self._batch_at, self._batch_after)
            walk = self._walk(view, start, size)
        if walk.end < size:
            os.ftruncate(self._descriptor, walk.end)
        written = before + walk.records
        captured = walk.end - HEADER_BYTES - RECORD_HEADER_BYTES * written
        return Contents(
            written, captured, walk.wire_bytes if from_start else None, first if written else None, walk.last_packet_ns
        )

    def _walk(self, view: mmap.mmap, start: int, size: int) -> _Walk:
        unpack, last_header = _RECORD.unpack_from, size - RECORD_HEADER_BYTES
        at = last = start
        records = wire_bytes = 0
        while at <= last_header:
            _, _, captured, length = unpack(view, at)
            after = at + RECORD_HEADER_BYTES + captured
            if after > size:
                break
            records += 1
            wire_bytes += length
            last, at = at, after
        return _Walk(records, wire_bytes, at, self._time_ns(view, last) if records else None)

    def _time_ns(self, view: mmap.mmap, at: int) -> int:
        seconds, fraction, _, _ = _RECORD.unpack_from(view, at)
        return int(seconds * 1_000_000_000 + fraction * self._unit_ns)


def _opened(path: Path) -> int:
    if path == Path(STANDARD_OUTPUT):
        return os.dup(sys.stdout.fileno())
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        if _is_regular(descriptor):  # it may have been there, with other rights
            os.fchmod(descriptor, 0o600)
    except OSError as error:
        raise CaptureError(f"{path}: cannot be written: {error.strerror}") from error
    return descriptor


def _is_regular(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
