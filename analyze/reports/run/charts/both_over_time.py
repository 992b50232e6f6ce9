"""Two runs over the same time axis, one quantity a panel: before and after in two colours, each transfer a point."""

from collections.abc import Callable, Iterator, Sequence

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note
from vmtrace.analyze.read.records.run import Role
from vmtrace.analyze.reports.run.charts.along_run import Clock
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps, measured
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import RUNS

Values = Callable[[Sequence[MeasuredTransfer]], Floats]


def _rtt_s(found: Sequence[MeasuredTransfer]) -> Floats:
    return measured(found, lambda one: one.rtt_median_s)


def _loss_percent(found: Sequence[MeasuredTransfer]) -> Floats:
    return 100 * measured(found, lambda one: one.loss_rate)


_QUANTITIES: tuple[tuple[str, Role, Axis, Values], ...] = (
    ("throughput of data transfers", "data", Axis("throughput", "bit/s"), goodput_bps),
    ("throughput of probes", "probe", Axis("throughput", "bit/s"), goodput_bps),
    ("median RTT of data transfers", "data", Axis("RTT", "s"), _rtt_s),
    ("loss of data transfers", "data", Axis("loss", "%"), _loss_percent),
)


def chart(before: RunResults, after: RunResults) -> Chart:
    """Both runs, from the start of each."""
    clocks = _clocks(before, after)
    panels = []
    for title, role, axis, values in _QUANTITIES:
        series = tuple(_series((before, after), clocks, role, values))
        panels.append(Panel(title, axis, series, empty_note(series, "no captures")))
    return Chart(
        name="both-runs-over-time",
        title="Both runs over time",
        caption="Time runs from the start of each run. Lines join transfers that follow each other.",
        x=Axis("time since the run's start", clocks[0].unit),
        panels=tuple(panels),
        shared_x=True,
    )


def _clocks(before: RunResults, after: RunResults) -> tuple[Clock, Clock]:
    """Both in the unit of the longer run."""
    longer = max((before, after), key=lambda run: Clock(run).span_s)
    return Clock(before, Clock(longer).span_s), Clock(after, Clock(longer).span_s)


def _series(
    runs: tuple[RunResults, RunResults], clocks: tuple[Clock, Clock], role: Role, values: Values
) -> Iterator[Series]:
    for place, (run, clock) in enumerate(zip(runs, clocks, strict=True)):
        found = run.of(role)
        name = f"{('before', 'after')[place]}: {run.name}"
        times, numbers = clock.of_transfers(found), values(found)
        labels = tuple(f"pair {one.pair.sequence} {role}" for one in found)
        yield Series(name, times, numbers, RUNS[place], labels=labels)
        yield Series(name, times, numbers, RUNS[place], "line")
