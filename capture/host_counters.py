"""Writes the host's counters into one wide CSV file, every second, while a run lasts.

What is counted is in `counters/`, one file for each source. The columns are those that the sources have at the start;
a counter that cannot be read later is an empty cell. Rows are appended whole; after a crash the file goes on.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from vmtrace.capture.counters.source import Reading, Source, Where, all_sources, read_all
from vmtrace.capture.deadlines import Deadlines
from vmtrace.capture.provenance import provenance
from vmtrace.formats import durable
from vmtrace.formats.provenance import Provenance, read_columns

SCHEMA = "vmtrace.host/1"
OWN_COLUMNS = ("time_ns", "sampler_cpu_s")


@dataclass(frozen=True)
class HostCountersOutcome:
    """What became of a recording of counters."""

    path: Path
    rows: int
    missed: int
    """Seconds without a row, because the machine stood still."""
    cpu_s: float
    """Processor time that the sampling itself took."""
    error: str | None
    """Why rows are missing from some time on, one line; None if none are."""


class HostCounters:
    """Samples in a thread of its own, which stays in the network namespace of the thread that calls `start`."""

    def __init__(
        self, path: Path, interval_s: float = 1.0, interface: str | None = None, origin: Provenance | None = None
    ) -> None:
        if interval_s <= 0:
            raise ValueError(f"host counters each {interval_s} s: must be more than 0")
        self.path = path
        """The file that is written: with a number in its name where `path` has other columns (other NIC or kernel)."""
        self.error: str | None = None
        self.rows = 0
        self.cpu_s = 0.0
        self._interval_s = interval_s
        self._where = Where(interface)
        self._origin = origin
        self._sources: list[Source] = []
        self._columns: tuple[str, ...] = ()
        self._file = -1
        self._deadlines = Deadlines(interval_s)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="host-counters", daemon=True)

    def __enter__(self) -> HostCounters:  # noqa: PYI034 (Python 3.9 has no typing.Self)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Write the first row and go on; an OSError, with the path, if the file cannot be written."""
        self._sources = all_sources(self._where)
        try:
            reading = read_all(self._sources)
            self._columns = (*OWN_COLUMNS, *reading)
            self.path = self._prepare_file()
            self._file = durable.open_to_append(self.path)
            self._append(reading)
        except BaseException:
            self._close()
            raise
        self._deadlines = Deadlines(self._interval_s)
        self._deadlines.met()
        self._thread.start()

    def stop(self) -> HostCountersOutcome:
        """Write a last row and close; may be called again."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._close()
        return HostCountersOutcome(self.path, self.rows, self._deadlines.missed, self.cpu_s, self.error)

    def _run(self) -> None:
        while self.error is None and not self._ending.wait(self._deadlines.remaining_s()):
            self._take_row()
            self._deadlines.met()
        if self.error is None:
            self._take_row()

    def _take_row(self) -> None:
        before_s = time.thread_time()
        try:
            self._append(read_all(self._sources))
        except OSError as error:
            self.error = f"{self.path}: {error.strerror}: no host counters from here on"
        self.cpu_s += time.thread_time() - before_s

    def _append(self, reading: Reading) -> None:
        own: Reading = {"time_ns": time.time_ns(), "sampler_cpu_s": self.cpu_s}
        cells = [_cell((own if column in own else reading).get(column)) for column in self._columns]
        durable.append_whole(self._file, (",".join(cells) + "\n").encode())
        self.rows += 1

    def _prepare_file(self) -> Path:
        """The file to append to: the first that is new, or that has the same columns."""
        number, path = 1, self.path
        while path.exists():
            if self._has_our_columns(path):
                durable.repair_tail(path)
                return path
            number += 1
            path = self.path.with_name(f"{self.path.stem}-{number}{self.path.suffix}")
        origin = self._origin or provenance(SCHEMA, self._interval_s)
        durable.write_aside(path, (origin.header() + ",".join(self._columns) + "\n").encode())
        return path

    def _has_our_columns(self, path: Path) -> bool:
        try:
            return read_columns(path, SCHEMA) == self._columns
        except ValueError:
            return False  # not a table of ours: it is left alone

    def _close(self) -> None:
        for source in self._sources:
            source.close()
        self._sources = []
        if self._file >= 0:
            descriptor, self._file = self._file, -1
            try:
                os.fsync(descriptor)
            except OSError as error:
                self.error = self.error or f"{self.path}: {error.strerror}"
            finally:
                os.close(descriptor)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6f}".rstrip("0").rstrip(".")
