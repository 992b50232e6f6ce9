"""When probes are due: after exponential intervals (a Poisson process) or at a fixed period.

Due times follow each other alone and never the probes: one that begins late moves none of the later ones. Source for
Poisson sampling: V. Paxson, End-to-End Routing Behavior in the Internet, IEEE/ACM ToN 5 (1997), section IV.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

LEAST_LATE_S = 0.010
LATE_SHARE = 0.01


def exponential(mean_s: float, seed: str) -> Iterator[float]:
    """Seconds since the start; the same seed gives the same times."""
    chance = random.Random(seed)
    due_s = 0.0
    while True:
        due_s += chance.expovariate(1 / mean_s)
        yield due_s


def periodic(every_s: float) -> Iterator[float]:
    """Seconds since the start; the first at once."""
    number = 0
    while True:
        yield number * every_s
        number += 1


def late_after_s(interval_s: float) -> float:
    """A probe that begins later than this after its due time is late: 1 % of the interval, at least 10 ms."""
    return max(LEAST_LATE_S, LATE_SHARE * interval_s)
