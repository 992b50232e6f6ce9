"""Round-trip time, loss and throughput along the whole run."""

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note, time_unit
from vmtrace.analyze.read.records.run import ROLES, Pair, Role
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps, measured
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import TRANSFERS

_BASELINE = "#009E73"


def chart(results: RunResults, suffix: str) -> Chart:
    """Three panels over the time of the campaign."""
    clock = Clock(results)
    transfers = {role: results.of(role) for role in ROLES}

    def along(values: "dict[Role, Floats]") -> tuple[Series, ...]:
        return tuple(Series(role, clock.of_transfers(transfers[role]), values[role], TRANSFERS[role]) for role in ROLES)

    rtt = along({role: measured(transfers[role], lambda one: one.rtt_mean_s) for role in ROLES})
    loss = along({role: 100 * measured(transfers[role], lambda one: one.loss_rate) for role in ROLES})
    throughput = along({role: goodput_bps(transfers[role]) for role in ROLES})
    return Chart(
        name=f"along-the-run{suffix}",
        title=f"RTT, loss and throughput along {results.name}",
        caption="Each point is a transfer; the line is the mean of the pings before each pair.",
        x=Axis("time since the run's start", clock.unit),
        panels=(
            Panel("mean RTT", Axis("RTT", "s"), (*rtt, *_baseline(results, clock)), empty_note(rtt, "no captures")),
            Panel("loss rate", Axis("loss rate", "%"), loss, empty_note(loss, "no captures")),
            Panel("throughput", Axis("throughput", "bit/s"), throughput),
        ),
        shared_x=True,
    )


class Clock:
    """Time along a run, in a unit that suits its length, or that of `span_s` where it is drawn with a longer one."""

    def __init__(self, results: RunResults, span_s: float | None = None) -> None:
        times = [one.transfer.start_ns for one in results.transfers]
        start_ns = results.run.record.start_ns
        # A clock that was set during the run may put transfers before its start: those count.
        self.start_ns = min([*times, *([] if start_ns is None else [start_ns])], default=0)
        self.span_s = (max(times, default=self.start_ns) - self.start_ns) / 1e9
        shown_s = self.span_s if span_s is None else span_s
        self._seconds, self.unit = time_unit(shown_s)

    def of_transfers(self, transfers: list[MeasuredTransfer]) -> Floats:
        """When each began."""
        return self.of_times([one.transfer.start_ns for one in transfers])

    def of_times(self, times_ns: list[int]) -> Floats:
        """Instants on this axis."""
        return np.array([(time - self.start_ns) / 1e9 / self._seconds for time in times_ns], np.float64)


def _baseline(results: RunResults, clock: Clock) -> tuple[Series, ...]:
    pairs: list[tuple[Pair, float]] = [
        (pair, pair.rtt.mean_s)
        for pair in results.run.complete_pairs
        if pair.rtt is not None and pair.rtt.mean_s is not None
    ]
    if not pairs:
        return ()
    times = [pair.start_ns or (pair.probe.start_ns if pair.probe else clock.start_ns) for pair, _ in pairs]
    values = np.array([mean_s for _, mean_s in pairs], np.float64)
    return (Series("ping", clock.of_times(times), values, _BASELINE, "line"),)
