"""When the next sample is due: multiples of the interval from the start on, no drift; what was missed is left out."""

from __future__ import annotations

import time
from typing import Callable


class Deadlines:
    """Deadlines at the start, and each `interval_s` after it."""

    def __init__(self, interval_s: float, now_s: Callable[[], float] = time.monotonic) -> None:
        self.missed = 0
        """Deadlines that had passed already when the work of an earlier one was done."""
        self._interval_s = interval_s
        self._now_s = now_s
        self._start_s = now_s()
        self._number = 0

    def remaining_s(self) -> float:
        """How long to wait for the deadline, 0 when it is now or over."""
        return max(0.0, self._start_s + self._number * self._interval_s - self._now_s())

    def met(self) -> None:
        """The work of this deadline is done: the next is the first that is still to come."""
        passed = int((self._now_s() - self._start_s) / self._interval_s)
        following = max(self._number, passed) + 1
        self.missed += following - self._number - 1
        self._number = following
