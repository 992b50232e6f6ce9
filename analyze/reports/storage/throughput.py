"""How fast a service moved each workload (the study's Fig. 4): the median over repeats with its interval.

The time of a transaction is from the start of its first object to the end of its last: the login is counted apart. Only
transactions count in which every object was transferred.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.stats.estimates import Estimate, median
from vmtrace.analyze.tables.schema.typed import Count


@dataclass(frozen=True, slots=True)
class ThroughputRow:
    """One workload in one direction."""

    workload: str
    direction: Direction
    files: Count
    file_bytes: Count
    planned: Count
    """Transactions there are."""
    whole: Count
    """Those in which every object was transferred: the others do not count."""
    throughput_bps: Estimate
    """Median over transactions: workload bits over the time from the first object's start to the last one's end."""
    object_time_s: Estimate
    """Median over transactions of the median time of an object."""
    login_s: Estimate


def throughput_rows(run: MeasuredRun) -> list[ThroughputRow]:
    """A row for each workload and direction."""
    return [_row(workload, direction, found) for (workload, direction), found in run.kinds().items()]


def throughput_bps(one: MeasuredTransaction) -> float | None:
    """Workload bits over the time that its objects took; none if not all were transferred."""
    if not one.whole:
        return None
    start_ns = min(stored.exchange.start_ns for stored in one.objects)
    end_ns = max(stored.exchange.end_ns for stored in one.objects)
    moved = sum(stored.moved_bytes for stored in one.objects)
    return 8e9 * moved / (end_ns - start_ns) if end_ns > start_ns else None


def _row(workload: str, direction: str, found: Sequence[MeasuredTransaction]) -> ThroughputRow:
    first = found[0].transaction
    rates = [rate for one in found if (rate := throughput_bps(one)) is not None]
    times = [float(np.median([o.exchange.duration_s for o in one.objects])) for one in found if one.whole]
    logins = [one.transaction.login.duration_s for one in found if one.transaction.login is not None]
    return ThroughputRow(
        workload,
        direction,
        first.files,
        first.file_bytes,
        len(found),
        len(rates),
        *(median(np.array(values, np.float64)) for values in (rates, times, logins)),
    )
