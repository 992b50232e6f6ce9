"""Plans of a surge: more and more threads request one size without a pause, step after step, over and over.

Plan and start fix the whole: hosts that begin at the same time are in step without speaking to each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from vmtrace.providers.kind import SURGE
from vmtrace.providers.plan import DOWNLOAD, UPLOAD
from vmtrace.providers.plan_options import as_record, longer, numbers, option, size, some_of

QUICK_STEP_S = 5.0
QUICK_SIZE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """So many threads in one direction, from `start_s` (seconds since the start) on."""

    number: int
    round: int
    threads: int
    direction: str
    start_s: float


@dataclass(frozen=True, slots=True)
class SurgePlan:
    """Each round has all numbers of threads in the first direction, then in the second."""

    name: str
    threads: tuple[int, ...] = option("threads", numbers(256))
    step_s: float = option("step", longer)
    size_bytes: int = option("size", size)
    directions: tuple[str, ...] = option("directions", some_of((UPLOAD, DOWNLOAD)))
    duration_s: float = option("for", longer, what="how long (18h, 7d)", metavar="TIME")
    scale: float = 1.0

    @property
    def kind(self) -> str:
        """Of plans."""
        return SURGE

    def steps(self) -> Iterator[Step]:
        """All of the plan's duration; one step at least."""
        each = [(direction, threads) for direction in self.directions for threads in self.threads]
        for number in range(max(1, math.floor(self.duration_s / self.step_s + 1e-9))):
            direction, threads = each[number % len(each)]
            yield Step(number + 1, number // len(each) + 1, threads, direction, number * self.step_s)

    def scaled(self, factor: float) -> SurgePlan:
        """Size, step and duration multiplied."""
        return replace(
            self,
            size_bytes=max(1, math.floor(self.size_bytes * factor + 0.5)),
            step_s=self.step_s * factor,
            duration_s=self.duration_s * factor,
            scale=self.scale * factor,
        )

    def quick(self) -> SurgePlan:
        """One round of short steps with smaller objects."""
        steps = len(self.threads) * len(self.directions)
        size = min(self.size_bytes, QUICK_SIZE_BYTES)
        return replace(self, step_s=QUICK_STEP_S, duration_s=steps * QUICK_STEP_S, size_bytes=size)

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return as_record(self)


GARFINKEL2007_SURGE = SurgePlan(
    # S. Garfinkel, Harvard TR-08-07 (2007), section 5.7: 100 MB, 1 to 6 threads, ten minutes each, for eleven hours.
    name="garfinkel2007-surge",
    threads=(1, 2, 3, 4, 5, 6),
    step_s=600.0,
    size_bytes=100_000_000,
    directions=(DOWNLOAD, UPLOAD),
    duration_s=11 * 3600.0,
)
