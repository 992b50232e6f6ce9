"""Throughput along a run of hours or days (the study's section III.C and Fig. 5): a smooth line through the
transactions, and what each hour and each day came to.

The line is a running median, centred: of a transaction and as many before as after it. That are those within half an
hour, four on each side at the least and fifty at the most, and none that is more than six hours away (a pause of the
campaign is no stretch of it). A median, because single transfers fail to be alike by factors, and a mean would follow
each of them; centred with the same number on both sides, because else the line leads or lags a change. Towards both
ends there are fewer neighbours; where fewer than five transactions are left there is no line.

Workloads and directions have series of their own. Hours and days are those of UTC.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.reports.storage.throughput import throughput_bps
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.tables.schema.typed import Count, Positive, bounds, one_of

HOUR, DAY, HOUR_OF_DAY = "hour", "day", "hour of day"
HOUR_NS, DAY_NS = 3600 * 10**9, 86_400 * 10**9
NEAR_NS, FAR_NS = HOUR_NS // 2, 6 * HOUR_NS
FEWEST_EACH_SIDE, MOST_EACH_SIDE = 4, 50
FEWEST_FOR_A_LINE = 5
"""Then the median is not moved by any two that are out of the ordinary."""
FEWEST_FOR_PERCENTILES = 20
"""With fewer, five of a hundred are less than one."""

Parts = dict[int, list[MeasuredTransaction]]


@dataclass(frozen=True, slots=True)
class PeriodRow:
    """The transactions of a workload in one direction that began in an hour, on a day, or at an hour of any day."""

    workload: str
    direction: Direction
    period: Annotated[str, one_of("hour", "day", "hour of day")]
    start_ns: int | None
    """Null of an hour of day."""
    hour: Annotated[int, bounds(minimum=0, maximum=23)] | None
    """Of an hour of day."""
    transactions: Annotated[int, bounds(minimum=1)]
    whole: Count
    """Those in which every object was transferred: the others do not count."""
    mean_bps: Positive | None
    p5_bps: Positive | None
    """Null of fewer than 20."""
    median_bps: Positive | None
    p95_bps: Positive | None
    """Null of fewer than 20."""


def smoothed_line_bps(run: MeasuredRun) -> dict[int, float | None]:
    """The height of the line at each transaction, by its number; None where there is no line."""
    found: dict[int, float | None] = {one.transaction.number: None for one in run.transactions}
    for kind in run.kinds().values():
        rates = [(one, rate) for one in kind if (rate := throughput_bps(one)) is not None]
        rates.sort(key=lambda pair: pair[0].transaction.start_ns)
        line = running_median([one.transaction.start_ns for one, _ in rates], [rate for _, rate in rates])
        found |= {one.transaction.number: height for (one, _), height in zip(rates, line, strict=True)}
    return found


def running_median(times_ns: Sequence[int], values: Sequence[float]) -> list[float | None]:
    """The line through values in order of time."""
    heights: list[float | None] = []
    for place in range(len(values)):
        side = _neighbours(times_ns, place)
        around = values[place - side : place + side + 1]
        heights.append(float(np.median(around)) if len(around) >= FEWEST_FOR_A_LINE else None)
    return heights


def _neighbours(times_ns: Sequence[int], place: int) -> int:
    """How many on each side of a place belong to its median."""
    most = min(place, len(times_ns) - 1 - place, MOST_EACH_SIDE)
    for side in range(1, most + 1):
        away_ns = max(times_ns[place] - times_ns[place - side], times_ns[place + side] - times_ns[place])
        if away_ns > (NEAR_NS if side > FEWEST_EACH_SIDE else FAR_NS):
            return side - 1
    return most


def period_rows(run: MeasuredRun) -> list[PeriodRow]:
    """Hours, days and, of a run of several days, the hours of the day; of each workload and direction."""
    rows: list[PeriodRow] = []
    for what, kind in run.kinds().items():
        days = _parted(kind, lambda start_ns: start_ns // DAY_NS)
        rows += _rows((*what, HOUR), HOUR_NS, _parted(kind, lambda start_ns: start_ns // HOUR_NS))
        rows += _rows((*what, DAY), DAY_NS, days)
        if len(days) > 1:
            rows += _rows((*what, HOUR_OF_DAY), None, _parted(kind, lambda start_ns: start_ns // HOUR_NS % 24))
    return rows


def _parted(kind: Sequence[MeasuredTransaction], key: Callable[[int], int]) -> Parts:
    """Transactions by a number made of their start."""
    parts: Parts = defaultdict(list)
    for one in kind:
        parts[key(one.transaction.start_ns)].append(one)
    return parts


def _rows(what: tuple[str, str, str], unit_ns: int | None, parts: Parts) -> list[PeriodRow]:
    return [_row(what, number, unit_ns, parts[number]) for number in sorted(parts)]


def _row(
    what: tuple[str, str, str], number: int, unit_ns: int | None, found: Sequence[MeasuredTransaction]
) -> PeriodRow:
    rates = np.array([rate for one in found if (rate := throughput_bps(one)) is not None], np.float64)
    p5, p95 = _percentiles(rates)
    return PeriodRow(
        *what,
        None if unit_ns is None else number * unit_ns,
        number if unit_ns is None else None,
        len(found),
        len(rates),
        float(rates.mean()) if len(rates) else None,
        p5,
        float(np.median(rates)) if len(rates) else None,
        p95,
    )


def _percentiles(values: Floats) -> tuple[float | None, float | None]:
    """The 5th and the 95th, between neighbours in proportion."""
    if len(values) < FEWEST_FOR_PERCENTILES:
        return None, None
    low, high = np.percentile(values, [5, 95])
    return float(low), float(high)
