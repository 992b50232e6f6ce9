"""What each transfer could have been slowed by: one value of every metric for each transfer of a role.

What the packets say is of the transfer itself. A reading beside it is joined by overlap, at several lags, and comes
with how much of it is about the transfer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.read.side.metrics import Metric, Periods
from vmtrace.analyze.read.side.overlap import ENOUGH, join, overlaps
from vmtrace.analyze.reports.run.limits import time_share_of
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import kernel_retransmission_rate, measured
from vmtrace.analyze.reports.run.side_data import SideData
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.factors import FACTORS, in_words

LAGS = range(-3, 4)
"""In periods of the metric: a few both ways."""
_FAR_NS = 2**61


@dataclass(frozen=True, slots=True)
class Candidate:
    """A metric's value for each transfer, by lag; NaN where there is none, `reason` says why for most of them."""

    metric: Metric
    by_lag: dict[int, Floats]
    period_s: float | None = None
    """None for what is of the transfer itself."""
    coverage: float | None = None
    """Share of a transfer that has readings: the median."""
    weight: float | None = None
    """Share of the readings' time that lies in the transfer: the median."""
    reason: str | None = None

    @property
    def about_the_transfers(self) -> bool:
        """True if the readings are of the transfers more than of other times."""
        return all(share is None or share >= ENOUGH for share in (self.coverage, self.weight))


def _pauses(one: Measures, duration_s: float) -> float | None:
    return one.oversize_time_s / duration_s if one.oversize_time_s is not None and duration_s > 0 else None


_OF_PACKETS: tuple[tuple[Metric, Callable[[Measures], float | None]], ...] = (
    (Metric("loss_rate", "loss", "packets", "share", split="any"), lambda one: one.loss_rate),
    (Metric("two_sides_loss_rate", "loss between both sides", "packets", "share", split="any"),
     lambda one: one.two_sides_loss_rate),
    (Metric("rtt_mean_s", "mean RTT", "packets", "s"), lambda one: one.rtt_mean_s),
    (Metric("one_way_delay_median_s", "median one-way delay", "packets", "s"), lambda one: one.one_way_delay_median_s),
    (Metric("window_limited_fraction", "time with the receive window full", "packets", "share", split="any"),
     lambda one: one.window_limited_fraction),
)  # fmt: skip
_LIMITS: tuple[tuple[Metric, Callable[[Measures], float | None]], ...] = tuple(
    (Metric(f"limited_by_{factor}", f"time limited by {in_words([factor])}", "packets", "share", split="any"),
     time_share_of(factor))
    for factor in FACTORS
)  # fmt: skip
_STALLED, _OPEN = "limited_by_host_stall", "limited_by_unknown"
_LIMITED = Metric("limited_by", "time limited by each factor", "packets", "share", split="any")
_PAUSED = Metric("oversize_time_share", "time in unusually long pauses", "packets", "share", split="any")
_KERNEL_LOSS = Metric(
    "kernel_retransmission_rate", "retransmissions by the kernel's count", "packets", "share", split="any"
)
_PING = Metric("ping_mean_s", "RTT without load before the pair", "ping", "s")


def candidates(transfers: Sequence[MeasuredTransfer], side: SideData) -> list[Candidate]:
    """Everything that throughput of these transfers may vary with, also what was not measured."""
    of_side = [_with_metric(transfers, one) for one in side.metrics if one.metric.asked]
    absent = [Candidate(Metric(one.name, one.label, one.source, "count"), {}, reason=one.reason) for one in side.absent]
    return [*_of_transfers(transfers), *of_side, *absent]


def _of_transfers(transfers: Sequence[MeasuredTransfer]) -> list[Candidate]:
    columns = [(metric, measured(transfers, get)) for metric, get in _OF_PACKETS]
    columns += [
        (_PAUSED, _column(_pauses(one.measures, one.transfer.duration_s) for one in transfers)),
        (_PING, _column(one.pair.rtt.mean_s if one.pair.rtt else None for one in transfers)),
    ]
    limits = _without_open_stalls([(metric, measured(transfers, get)) for metric, get in _LIMITS])
    # Without a verdict on any transfer there is one line that says so, not one for each factor.
    columns += limits if not np.isnan(limits[0][1]).all() else [(_LIMITED, limits[0][1])]
    if np.isnan(columns[0][1]).all():
        columns.append((_KERNEL_LOSS, kernel_retransmission_rate(transfers)))
    return [Candidate(metric, {0: values}, reason=_why_none(metric, values)) for metric, values in columns]


def _without_open_stalls(limits: list[tuple[Metric, Floats]]) -> list[tuple[Metric, Floats]]:
    """Time limited by a host that stood still is not known to be none where stops are left open: one capture does not
    tell a host's from the path's, though both sides' may, and then the verdict names them."""
    by_name = {metric.name: values for metric, values in limits}
    stalled, left_open = by_name[_STALLED], by_name[_OPEN]
    if not (left_open > 0).any() or (stalled > 0).any():
        return limits
    return [(metric, np.full_like(values, np.nan) if metric.name == _STALLED else values) for metric, values in limits]


def _column(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _why_none(metric: Metric, values: Floats) -> str | None:
    if not np.isnan(values).all():
        return None
    if metric.source == "ping":
        return "no echoes came back"
    if metric.name == _STALLED:
        return "one capture leaves open whether a stop was made at a host or on the path"
    if metric is _LIMITED:
        return "not captured, or too few packets to judge"
    return "not captured on both sides" if metric.name in _NEEDS_BOTH else "not captured, or not where it would show"


_NEEDS_BOTH = frozenset({"two_sides_loss_rate", "one_way_delay_median_s"})


def _with_metric(transfers: Sequence[MeasuredTransfer], periods: Periods) -> Candidate:
    """A metric joined to the transfers at every lag."""
    # A record may hold any number: what lies beyond centuries meets no period, and must not wrap into one.
    begin_ns = np.array([max(-_FAR_NS, min(_FAR_NS, one.transfer.start_ns)) for one in transfers], np.int64)
    length_ns = [min(_FAR_NS, max(1, round(one.transfer.duration_s * 1e9))) for one in transfers]
    until_ns = begin_ns + np.array(length_ns, np.int64)
    step_ns = round((periods.period_s or 0.0) * 1e9)
    by_lag = {}
    coverage, weight = np.empty(0), np.empty(0)
    for lag in LAGS:
        found = overlaps(periods.start_ns, periods.end_ns, begin_ns - lag * step_ns, until_ns - lag * step_ns)
        joined = join(found, periods.value)
        by_lag[lag] = joined.value
        if lag == 0:
            coverage, weight = joined.coverage, joined.weight
    there = ~np.isnan(by_lag[0])
    return Candidate(
        periods.metric,
        by_lag,
        periods.period_s,
        _median(coverage),
        _median(weight[there]),
        None if there.any() else _why_beside_nothing(periods),
    )


def _why_beside_nothing(periods: Periods) -> str:
    if not np.isnan(periods.value).all():
        return "its times and those of the transfers do not meet"
    return "; ".join(f"{reason} ({count:,})" for reason, count in periods.missing) or "no period has a value"


def _median(values: Floats) -> float | None:
    return float(np.median(values)) if len(values) else None
