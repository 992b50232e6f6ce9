"""What more requests for an object would have gained: two or three at once, or one that is broken off and repeated.

Computed from the log, with the requests that came next in place of those that were not made: what is slow at a time is
slow for all, so that draws from the whole run would promise too much. At once, the first to end counts. Repeated: one
that takes longer than nineteen of twenty is broken off, and the next begins then. Source: J. Dean, L. A. Barroso, The
Tail at Scale, CACM 56 (2013), for hedged requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.reports.storage.requests import Requests
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.tables.schema.typed import one_of

AT_ONCE, REPEATED = "at once", "repeated"
FEWEST = 40
_FEWEST_FOR_P99 = 200
_MOST_REQUESTS = 3
_BROKEN_OFF_AT = 0.95


@dataclass(frozen=True, slots=True)
class HedgingRow:
    """Times of one size and direction with so many requests for each object."""

    size_bytes: int
    direction: Direction
    manner: Annotated[str, one_of("at once", "repeated")]
    requests: int
    n: int
    median_s: float
    p95_s: float
    p99_s: float | None
    more_requests: float
    """For each object, on average."""


def hedging_rows(requests: Requests) -> list[HedgingRow]:
    """One to three at once, and one that is repeated; of sizes and directions with forty requests that were done."""
    rows: list[HedgingRow] = []
    for size, direction, there in requests.kinds():
        places = np.flatnonzero(there & requests.done & (requests.duration_s > 0))
        if len(places) < FEWEST:
            continue
        times = requests.duration_s[places[np.argsort(requests.start_ns[places], kind="stable")]]
        rows += [
            _row(size, direction, AT_ONCE, number, _first_of(times, number), number - 1.0)
            for number in range(1, _MOST_REQUESTS + 1)
        ]
        limit_s = float(np.quantile(times, _BROKEN_OFF_AT))
        late = times[:-1] > limit_s
        repeated = np.where(late, limit_s + times[1:], times[:-1])
        rows.append(_row(size, direction, REPEATED, 2, repeated, float(late.mean())))
    return rows


def _first_of(times: Floats, number: int) -> Floats:
    """The shortest of each request and those that came next."""
    n = len(times) - number + 1
    first: Floats = np.min([times[place : place + n] for place in range(number)], axis=0)
    return first


def _row(size: int, direction: str, manner: str, number: int, times: Floats, more: float) -> HedgingRow:
    median_s, p95_s, p99_s = (float(one) for one in np.quantile(times, [0.5, 0.95, 0.99]))
    known = p99_s if len(times) >= _FEWEST_FOR_P99 else None
    return HedgingRow(size, direction, manner, number, len(times), median_s, p95_s, known, more)
