"""A clock that was set while the capture ran."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.truth import ClockStep, Truth


@dataclass(frozen=True, slots=True)
class StepClock:
    """At each of these frames the clock is set ahead, or back, and stays so."""

    steps: tuple[ClockStep, ...]

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`. The order of the frames stays."""
        frames = [replace(frame, time_ns=frame.time_ns + self._ahead_ns(frame.number)) for frame in capture.frames]
        return capture.with_frames(frames), Truth(stepped=self.steps)

    def _ahead_ns(self, number: int) -> int:
        return sum(step.step_ns for step in self.steps if step.frame <= number)
