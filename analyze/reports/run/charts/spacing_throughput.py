"""Mean packet spacing against throughput of all transfers, several runs side by side (Fig. 6 of the study)."""

from collections.abc import Callable

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note
from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps, measured
from vmtrace.analyze.words.palette import RUNS


def chart(runs: list[RunResults]) -> Chart:
    """A panel for probes and one for data transfers; a colour for each run."""
    return Chart(
        name="figure-6-mean-spacing-and-throughput",
        title="Mean time between packets and throughput of all transfers",
        caption="Each point is a transfer. Where pauses decide throughput, a run lies on a falling line.",
        x=Axis("mean time between packets", "s", log=True),
        panels=tuple(_panel(runs, role) for role in ROLES),
        columns=2,
    )


def unwaited(runs: list[RunResults]) -> Chart | None:
    """The same with the time that hosts leave between packets; none where it was not measured."""
    if all(one.measures.unwaited_mean_s is None for run in runs for one in run.transfers):
        return None
    return Chart(
        name="figure-6-spacing-without-waits",
        title="Mean time between packets without waits for acknowledgements, and throughput",
        caption="Each point is a transfer. Beside a stable time between packets throughput varies for other reasons.",
        x=Axis("mean time between packets that no ACK came between", "s", log=True),
        panels=tuple(_panel(runs, role, lambda one: one.unwaited_mean_s) for role in ROLES),
        columns=2,
    )


def _panel(
    runs: list[RunResults], role: Role, time_s: Callable[[Measures], float | None] = lambda one: one.spacing_mean_s
) -> Panel:
    series = tuple(
        Series(
            run.name,
            measured(run.of(role), time_s),
            goodput_bps(run.of(role)),
            RUNS[number % len(RUNS)],
            symbol="circle" if number == 0 else "ring",
        )
        for number, run in enumerate(runs)
    )
    measured_any = tuple(one.drawable(Axis("", "s", log=True), Axis("", "bit/s", log=True)) for one in series)
    return Panel(role, Axis("throughput", "bit/s", log=True), series, empty_note(measured_any, "no captures"))
