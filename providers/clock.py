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
