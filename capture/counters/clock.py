"""Steps of the wall clock, so that no time difference across one is believed."""

from __future__ import annotations

from vmtrace.capture.clock import ClockWatch
from vmtrace.capture.counters.source import Reading, Source, Where


class Clock(Source):
    """By how much the wall clock was set since the recording began."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._watch = ClockWatch()
        self._stepped_s = 0.0

    def read(self) -> Reading:
        """The sum of all steps so far."""
        step = self._watch.look()
        if step is not None:
            self._stepped_s += step.step_s
        return {"clock_stepped_s": self._stepped_s}


SOURCE = Clock
