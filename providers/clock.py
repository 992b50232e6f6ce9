"""The clock of a campaign, at one seam: due times, waits and the times of requests all come from here.

`RealClock` is the machine's. A simulation of weeks gives another one, which jumps instead of waiting.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What a campaign knows of time."""

    longest_sleep_s: float
    """In one piece, so that progress is shown in between."""

    def wall_ns(self) -> int:
        """Unix nanoseconds."""

    def elapsed_ns(self) -> int:
        """Nanoseconds of a clock that never steps."""

    def sleep(self, seconds: float) -> None:
        """Let so much time pass; a signal may end it by an exception."""


class RealClock:
    """This machine's clocks."""

    longest_sleep_s = 1.0

    def wall_ns(self) -> int:
        """Unix nanoseconds."""
        return time.time_ns()

    def elapsed_ns(self) -> int:
        """Of the monotonic clock."""
        return time.perf_counter_ns()

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(max(0.0, seconds))


REAL: Clock = RealClock()


class ClockWatch:
    """Whether this host's clock was stepped while a run measured with it: wall time against monotonic time."""

    def __init__(self) -> None:
        self._first_ns = self._offset_ns()
        self._least_ns = self._most_ns = 0

    def look(self) -> None:
        """Compare now."""
        moved_ns = self._offset_ns() - self._first_ns
        self._least_ns, self._most_ns = min(self._least_ns, moved_ns), max(self._most_ns, moved_ns)

    @property
    def moved_s(self) -> float:
        """How far wall time strayed, in all: an error of every latency that was measured across it."""
        return (self._most_ns - self._least_ns) / 1e9

    @staticmethod
    def _offset_ns() -> int:
        """The better of three: a reading may be interrupted between its clocks."""
        found = []
        for _ in range(3):
            before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
            found.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
        return min(found)[1]
