"""What processors did along the run, under the throughput it had then (Fig. 9 of the study).

The hypervisor's view is CloudWatch's CPUUtilization, the guests' that of their own counters, which also know steal.
What an instance was allowed beside (ENA's allowances, CPU credits) is on the same axis, where there is any.
"""

import math
from collections.abc import Iterable

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series
from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.read.side.host import ALLOWANCES
from vmtrace.analyze.read.side.metrics import Periods
from vmtrace.analyze.reports.run.charts.along_run import Clock
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps
from vmtrace.analyze.reports.run.side_data import SideData, side_data
from vmtrace.analyze.words.palette import TRANSFERS
from vmtrace.analyze.words.units import seconds

_STRETCHES = 720
"""A line of more points than this along a run is a band: each is then the mean over a longer stretch."""
_MOST_PIECES = 100
_SENDER, _RECEIVER, _CLOUD = "#555555", "#CC79A7", "#D55E00"
_STATES = (
    ("sender_cpu_user", "user", "#56B4E9"),
    ("sender_cpu_nice", "user, niced", "#B8860B"),
    ("sender_cpu_system", "system", "#009E73"),
    ("sender_cpu_softirq", "soft interrupts", "#CC79A7"),
    ("sender_cpu_iowait", "waiting for disks", "#999999"),
    ("sender_cpu_steal", "stolen", "#D55E00"),
)
_ALLOWANCE_COLOURS = dict(zip(ALLOWANCES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B"), strict=True))


def chart(results: RunResults, suffix: str) -> Chart | None:
    """Throughput, processor time, steal, allowances, credits; None if the run has nothing of processors."""
    side, clock = side_data(results), Clock(results)
    draw = _Drawing(side, clock, _until_ns(results))
    used = draw.panel("CPU", "utilisation", "%", [
        ("sender_cpu", "sender", _SENDER), ("receiver_cpu", "receiver", _RECEIVER),
        ("cloudwatch_CPUUtilization", "CloudWatch", _CLOUD),
    ])  # fmt: skip
    if used is None:
        return None
    allowances = [
        (name.format(allowance), f"{allowance} ({place})", colour)
        for allowance, colour in _ALLOWANCE_COLOURS.items()
        for name, place in (
            ("sender_nic_{}_allowance_exceeded", "sender"),
            ("receiver_nic_{}_allowance_exceeded", "receiver"),
            ("cloudwatch_ethtool_{}_allowance_exceeded", "CloudWatch"),
        )
    ]
    panels = (
        _throughput(results, clock),
        used,
        draw.panel("CPU of the sender by state", "share", "%", _STATES),
        draw.panel("steal", "steal", "%", [
            ("sender_cpu_steal", "sender", _SENDER), ("receiver_cpu_steal", "receiver", _RECEIVER),
            ("cloudwatch_cpu_usage_steal", "CloudWatch", _CLOUD),
        ]),
        draw.panel("packets beyond allowances", "rate", "packets/s", allowances, with_zero=False),
        draw.panel("CPU credits", "balance", "credits", [
            ("cloudwatch_CPUCreditBalance", "balance", _SENDER),
            ("cloudwatch_CPUSurplusCreditBalance", "surplus", _CLOUD),
        ]),
    )  # fmt: skip
    return Chart(
        name=f"figure-9-cpu{suffix}",
        title=f"Processors along {results.name}, and throughput",
        caption=f"Each point is a transfer; lines are {_of_periods(side)}. Stolen: the hypervisor ran something else."
        " A gap in a line is a period without a value.",
        x=Axis("time since the run's start", clock.unit),
        panels=tuple(panel for panel in panels if panel is not None),
        shared_x=True,
    )


def _throughput(results: RunResults, clock: Clock) -> Panel:
    series = (
        Series(role, clock.of_transfers(results.of(role)), goodput_bps(results.of(role)), TRANSFERS[role])
        for role in ROLES
    )
    return Panel("throughput", Axis("throughput", "bit/s"), tuple(series))


def _until_ns(results: RunResults) -> int:
    """The end of the last transfer."""
    ends = (one.transfer.start_ns + round(one.transfer.duration_s * 1e9) for one in results.transfers)
    return min(max(ends, default=0), 2**62)


def _of_periods(side: SideData) -> str:
    host = [one for one in side.of("host") if one.metric.name.endswith("_cpu")]
    cloud = [one for one in side.of("cloudwatch") if one.metric.name == "cloudwatch_CPUUtilization"]
    reported = []
    if host:
        length_s = float(np.median([(one.period_s or 0.0) * _step(one) for one in host]))
        reported.append(f"the hosts' own counters over {seconds(length_s)}")
    if cloud:
        reported.append(f"CloudWatch's averages over {seconds(cloud[0].period_s)}")
    return " and ".join(reported)


def _step(periods: Periods) -> int:
    return max(1, math.ceil(len(periods.value) / _STRETCHES))


class _Drawing:
    """Panels of metrics over one time axis."""

    def __init__(self, side: SideData, clock: Clock, until_ns: int) -> None:
        self._side = side
        self._clock = clock
        self._until_ns = until_ns

    def panel(
        self, title: str, label: str, unit: str, wanted: Iterable[tuple[str, str, str]], *, with_zero: bool = True
    ) -> Panel | None:
        """A panel of the metrics (name, name in the legend, colour) that there are; None without any."""
        series = []
        for name, shown, colour in wanted:
            for one in (one for one in self._side.metrics if one.metric.name == name):
                known = one.value[~np.isnan(one.value)]
                if len(known) and (with_zero or known.any()):
                    named = f"{shown} {one.metric.dimensions}" if one.metric.dimensions else shown
                    series += self._pieces(one, named, colour, 100.0 if unit == "%" else 1.0)
        return Panel(title, Axis(label, unit), tuple(series)) if series else None

    def _pieces(self, periods: Periods, name: str, colour: str, factor: float) -> list[Series]:
        """A line for each stretch without a gap; of a run that is all gaps, one line."""
        of_run = (periods.end_ns > self._clock.start_ns) & (periods.start_ns < self._until_ns)
        there = np.flatnonzero(~np.isnan(periods.value) & of_run)
        start = np.maximum(periods.start_ns[there], self._clock.start_ns)
        end, value = np.minimum(periods.end_ns[there], self._until_ns), periods.value[there]
        breaks = np.flatnonzero(start[1:] > end[:-1]) + 1
        pieces = np.split(np.arange(len(there)), breaks if len(breaks) < _MOST_PIECES else [])
        step = _step(periods)
        found = []
        for piece in pieces if len(there) else ():
            cuts = np.arange(0, len(piece), step)
            length = (end[piece] - start[piece]).astype(np.float64)
            means = np.add.reduceat(value[piece] * length, cuts) / np.add.reduceat(length, cuts)
            begins = start[piece][cuts]
            last = end[piece][-1]
            # A mean holds until the next one begins, and the last one until it ends.
            times = self._clock.of_times([*(int(time) for time in begins), int(last)])
            found.append(Series(name, times, factor * np.append(means, means[-1]), colour, "steps"))
        return found
