"""Plans that sample a service at due times: probes (Poisson), availability and locations (at a period).

Due times follow each other alone and never the probes: one that begins late moves none of the later ones. Source for
Poisson sampling: V. Paxson, End-to-End Routing Behavior in the Internet, IEEE/ACM ToN 5 (1997), section IV.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from vmtrace.providers.kind import AVAILABILITY, LOCATIONS, PROBES
from vmtrace.providers.plan import DOWNLOAD, UPLOAD
from vmtrace.providers.plan_options import as_record, longer, option, sizes, some_of, truth, whole

STUDY_SIZES_BYTES = (1, 1_000, 1_000_000, 16_000_000, 100_000_000)
QUICK_LARGEST_BYTES = 1_000_000
QUICK_S = 60.0


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """One of `mean_interval_s` (exponential) and `every_s` (a period) is given."""

    kind: str
    name: str
    sizes_bytes: tuple[int, ...] = option("sizes", sizes, what="sizes of objects, as 1B,1kB,1MB", metavar="SIZE,...")
    directions: tuple[str, ...] = option("directions", some_of((UPLOAD, DOWNLOAD)))
    duration_s: float = option("for", longer, what="how long (18h, 7d)", metavar="TIME")
    mean_interval_s: float | None = option(
        "mean_interval", longer, None, what="mean time between them (exponential)", metavar="TIME", kinds=(PROBES,)
    )
    every_s: float | None = option(
        "every", longer, None, what="time between them", metavar="TIME", kinds=(AVAILABILITY, LOCATIONS)
    )
    pair: int = option("pair", whole(100), 2)
    """Objects that a probe writes and reads, in one direction after the other."""
    every_size: bool = option("every_size", truth, default=False)
    """Each probe goes through all sizes; else it has one of them, at random."""
    at_once: int = option("at_once", whole(64), 4)
    """Probes that may overlap: what is beyond waits, and is late."""
    scale: float = 1.0

    @property
    def interval_s(self) -> float:
        """Mean time between probes."""
        return self.mean_interval_s or self.every_s or 0.0

    @property
    def late_after_s(self) -> float:
        """A probe that begins so much after its due time is late."""
        return late_after_s(self.interval_s)

    @property
    def expected_probes(self) -> int:
        """On average."""
        return max(1, round(self.duration_s / self.interval_s))

    def due_times(self, seed: str) -> Iterator[float]:
        """Seconds since the start, within the plan's duration."""
        times = exponential(self.mean_interval_s, seed) if self.mean_interval_s else periodic(self.interval_s)
        for due_s in times:
            if due_s >= self.duration_s:
                return
            yield due_s

    def scaled(self, factor: float) -> SamplingPlan:
        """Sizes, intervals and duration multiplied; an object has at least one byte."""
        return replace(
            self,
            sizes_bytes=tuple(dict.fromkeys(max(1, math.floor(size * factor + 0.5)) for size in self.sizes_bytes)),
            duration_s=self.duration_s * factor,
            mean_interval_s=None if self.mean_interval_s is None else self.mean_interval_s * factor,
            every_s=None if self.every_s is None else self.every_s * factor,
            scale=self.scale * factor,
        )

    def quick(self) -> SamplingPlan:
        """A minute with twenty probes, without large objects."""
        small = tuple(size for size in self.sizes_bytes if size <= QUICK_LARGEST_BYTES) or self.sizes_bytes[:1]
        interval_s = QUICK_S / 20
        return replace(
            self,
            sizes_bytes=small,
            duration_s=QUICK_S,
            mean_interval_s=None if self.mean_interval_s is None else interval_s,
            every_s=None if self.every_s is None else interval_s,
        )

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return {**as_record(self), "late_after_s": self.late_after_s}


GARFINKEL2007_PROBES = SamplingPlan(
    # S. Garfinkel, An Evaluation of Amazon's Grid Computing Services (Harvard TR-08-07, 2007), sections 5 and 5.1. The
    # report names no mean interval: its 32,748 probes of six weeks are one in two minutes.
    kind=PROBES,
    name="garfinkel2007-probes",
    sizes_bytes=STUDY_SIZES_BYTES,
    directions=(UPLOAD, DOWNLOAD),
    duration_s=18 * 3600.0,
    mean_interval_s=120.0,
)
PALANKAR2008_AVAILABILITY = SamplingPlan(
    # M. Palankar and others, Amazon S3 for Science Grids (DADC 2008), section 4.3: 23 weeks. It names no size.
    kind=AVAILABILITY,
    name="palankar2008-availability",
    sizes_bytes=(1_000_000,),
    directions=(DOWNLOAD,),
    duration_s=23 * 7 * 86_400.0,
    every_s=900.0,
    pair=1,
)
PALANKAR2008_LOCATIONS = SamplingPlan(
    # The same, section 4.4.3: four times a day over seven days.
    kind=LOCATIONS,
    name="palankar2008-locations",
    sizes_bytes=STUDY_SIZES_BYTES,
    directions=(UPLOAD, DOWNLOAD),
    duration_s=7 * 86_400.0,
    every_s=6 * 3600.0,
    pair=1,
    every_size=True,
)


LEAST_LATE_S = 0.010
LATE_SHARE = 0.01


def exponential(mean_s: float, seed: str) -> Iterator[float]:
    """Due times of a Poisson process in seconds since the start; the same seed gives the same times."""
    chance = random.Random(seed)
    due_s = 0.0
    while True:
        due_s += chance.expovariate(1 / mean_s)
        yield due_s


def periodic(every_s: float) -> Iterator[float]:
    """Due times at a fixed period in seconds since the start; the first at once."""
    number = 0
    while True:
        yield number * every_s
        number += 1


def late_after_s(interval_s: float) -> float:
    """A probe that begins later than this after its due time is late: 1 % of the interval, at least 10 ms."""
    return max(LEAST_LATE_S, LATE_SHARE * interval_s)
