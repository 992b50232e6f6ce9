"""Probes of a service (Garfinkel, Harvard TR-08-07, 2007): by day and hour, by size, and from request to request.

Rates are in bits per second; transactions per second are one over the time of a request, which for objects of one byte
is all that a service does. Hours and days are those of UTC. Percentiles need twenty values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import stdtr
from scipy.stats import pearsonr

from vmtrace.analyze.reports.storage.hours import DAY_NS, HOUR_NS
from vmtrace.analyze.reports.storage.modes import modes
from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.reports.storage.requests import Ints, Requests
from vmtrace.analyze.stats.association import effective_number
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.tables.schema.typed import bounds

FEWEST_FOR_PERCENTILES = 20
_FEWEST_FOR_CORRELATION = 5


@dataclass(frozen=True, slots=True)
class SizeRow:
    """All requests of a size in one direction (Figs 4 to 6)."""

    size_bytes: Annotated[int, bounds(minimum=1)]
    direction: Direction
    n: int
    done: int
    retries: int
    errors: int
    """Digests that do not fit: write errors and read errors."""
    failed: int
    """Given up after the last retry."""
    mean_bps: float | None
    stdev_bps: float | None
    p5_bps: float | None
    median_bps: float | None
    p95_bps: float | None
    median_tps: float | None
    modes: int | None
    """Of the distribution of throughput; None below fifty requests."""
    modes_p: float | None


@dataclass(frozen=True, slots=True)
class ProbePeriodRow:
    """A day (`start_ns`), or an hour of any day (`hour`, 0 to 23)."""

    size_bytes: int
    direction: str
    start_ns: int | None
    hour: Annotated[int, bounds(minimum=0, maximum=23)] | None
    n: int
    mean_bps: float
    p5_bps: float | None
    p95_bps: float | None
    mean_bytes_per_s: float
    mean_tps: float


@dataclass(frozen=True, slots=True)
class SuccessiveRow:
    """The first request of a probe against its second one (Fig 7): Pearson's r of their throughput.

    Pairs near in time are alike: p is that of fewer, as for any two series (`association`).
    """

    size_bytes: int
    direction: str
    n: int
    r: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class AddressRow:
    """A front end (Table 1)."""

    address: str
    count: int
    first_seen_ns: int
    last_seen_ns: int


@dataclass(frozen=True, slots=True)
class Lateness:
    """Probes that could not begin when they were due."""

    probes: int
    late: int
    late_share: float
    late_after_s: float | None
    median_late_s: float
    largest_late_s: float


def size_rows(requests: Requests) -> list[SizeRow]:
    """A row for each size and direction."""
    rows = []
    for size, direction, there in requests.kinds():
        outcomes, rates = requests.outcome[there], requests.bps[there]
        known = rates[np.isfinite(rates)]
        times = requests.duration_s[there & requests.done]
        p5, p95 = percentiles(known)
        shape = modes(known)
        rows.append(
            SizeRow(
                size,
                direction,
                len(outcomes),
                int((outcomes == 0).sum()),
                int(requests.retries[there].sum()),
                int(((outcomes == 1) | (outcomes == 2)).sum()),
                int((outcomes == 3).sum()),
                float(known.mean()) if len(known) else None,
                float(known.std(ddof=1)) if len(known) > 1 else None,
                p5,
                float(np.median(known)) if len(known) else None,
                p95,
                float(np.median(1 / times)) if len(times) and times.min() > 0 else None,
                shape.number,
                shape.p,
            )
        )
    return rows


def daily_rows(requests: Requests) -> list[ProbePeriodRow]:
    """Means of days (Fig 1)."""
    return [
        _period(size, direction, int(day) * DAY_NS, None, requests, places)
        for size, direction, places, days in _parts(requests, DAY_NS)
        for day, places in _groups(days, places)
    ]


def hourly_rows(requests: Requests) -> list[ProbePeriodRow]:
    """Means of the hours of the day (Figs 2 and 3)."""
    return [
        _period(size, direction, None, int(hour), requests, places)
        for size, direction, places, hours in _parts(requests, HOUR_NS)
        for hour, places in _groups(hours % 24, places)
    ]


def successive_rows(requests: Requests) -> list[SuccessiveRow]:
    """A row for each size and direction."""
    rows = []
    for size, direction, there in requests.kinds():
        first, second = successive(requests, np.flatnonzero(there))
        r = p = None
        if len(first) >= _FEWEST_FOR_CORRELATION and np.ptp(first) > 0 and np.ptp(second) > 0:
            r = float(pearsonr(first, second).statistic)
            p = _p_of_correlation(r, effective_number(first, second))
        rows.append(SuccessiveRow(size, direction, len(first), r, p))
    return rows


def _p_of_correlation(r: float, pairs: float) -> float | None:
    """Two-tailed, of so many independent pairs; None where they are too few."""
    if pairs <= 2 or abs(r) >= 1:
        return None if pairs <= 2 else 0.0
    return 2 * float(stdtr(pairs - 2, -abs(r) * np.sqrt((pairs - 2) / (1 - r * r))))


def successive(requests: Requests, places: Ints) -> tuple[Floats, Floats]:
    """Throughput of the first and the second request of each probe that has both."""
    keys = requests.session[places] * (1 << 40) + requests.probe[places]
    rates, positions = requests.bps[places], requests.position[places]
    sides = []
    for position in (1, 2):
        there = (positions == position) & np.isfinite(rates)
        order = np.argsort(keys[there], kind="stable")
        sides.append((keys[there][order], rates[there][order]))
    _, first, second = np.intersect1d(sides[0][0], sides[1][0], return_indices=True)
    return sides[0][1][first], sides[1][1][second]


def address_rows(requests: Requests) -> list[AddressRow]:
    """In the order of first use."""
    rows = []
    for code, address in enumerate(requests.front_ends):
        times = requests.start_ns[requests.front_end == code]
        if len(times):
            rows.append(AddressRow(address, len(times), int(times.min()), int(times.max())))
    return sorted(rows, key=lambda row: row.first_seen_ns)


def lateness(requests: Requests, late_after_s: float | None) -> Lateness | None:
    """Of probes with a due time; None where there are none."""
    due = requests.due_ns > 0
    if not due.any():
        return None
    keys = requests.session[due] * (1 << 40) + requests.probe[due]
    _, first = np.unique(keys, return_index=True)
    late_s = requests.late_s[due][first]
    late = int((late_s > late_after_s).sum()) if late_after_s is not None else 0
    return Lateness(len(late_s), late, late / len(late_s), late_after_s, float(np.median(late_s)), float(late_s.max()))


def percentiles(values: Floats) -> tuple[float | None, float | None]:
    """The 5th and the 95th."""
    if len(values) < FEWEST_FOR_PERCENTILES:
        return None, None
    low, high = np.percentile(values, [5, 95])
    return float(low), float(high)


def _parts(requests: Requests, unit_ns: int) -> Iterator[tuple[int, str, Ints, Ints]]:
    """Size and direction, the requests that were done, and the number of the unit in which each began."""
    for size, direction, there in requests.kinds():
        places = np.flatnonzero(there & np.isfinite(requests.bps))
        yield size, direction, places, requests.start_ns[places] // unit_ns


def _groups(keys: Ints, places: Ints) -> Iterator[tuple[int, Ints]]:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    edges = np.flatnonzero(np.diff(ordered)) + 1
    for some in np.split(order, edges):
        if len(some):
            yield int(keys[some[0]]), places[some]


def _period(
    size: int, direction: str, start_ns: int | None, hour: int | None, requests: Requests, places: Ints
) -> ProbePeriodRow:
    rates = requests.bps[places]
    p5, p95 = percentiles(rates)
    mean = float(rates.mean())
    tps = float((1 / requests.duration_s[places]).mean())
    return ProbePeriodRow(size, direction, start_ns, hour, len(rates), mean, p5, p95, mean / 8, tps)
