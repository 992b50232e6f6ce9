"""Throughput over the time of a run, each transfer in the colour of what limited it: the first figure of a report.

Many runs are one panel, with a point for each run.
"""

from collections.abc import Sequence

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, Symbol, time_unit
from vmtrace.analyze.pages.causes import COLOURS, NOT_JUDGED, UNDECIDED
from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.charts.along_run import Clock
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.verdict.evidence import judged
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict
from vmtrace.analyze.words.human_causes import factor_name

MOST_PANELS = 4
"""Runs that have a panel each; of more, each run is a point."""
_SYMBOLS: dict[Role, Symbol] = {"probe": "ring", "data": "circle"}


def chart(runs: Sequence[RunResults]) -> Chart:
    """A panel of each run, or of many runs one."""
    return _of_transfers(runs) if len(runs) <= MOST_PANELS else _of_runs(runs)


def cause_of(one: MeasuredTransfer) -> str:
    """The factor of a transfer's settled verdict; that it is undecided, or that there is none."""
    found = judged(one)
    if found is None:
        return NOT_JUDGED
    return UNDECIDED if found.is_open else found.factor


def row_id(number: int, sequence: int) -> str:
    """Of a pair's row on a page: `number` is the run's, from 0 on."""
    return f"run-{number + 1}-pair-{sequence}"


def _of_transfers(runs: Sequence[RunResults]) -> Chart:
    longest_s = max(Clock(run).span_s for run in runs)
    clocks = [Clock(run, longest_s) for run in runs]
    panels = tuple(
        Panel("throughput" if len(runs) == 1 else run.name, Axis("throughput", "bit/s"), _series(run, clock, number))
        for number, (run, clock) in enumerate(zip(runs, clocks, strict=True))
    )
    return Chart(
        name="throughput-by-cause",
        title="Throughput over time, and what limited it",
        caption="Each point is a transfer: discs are data transfers, rings are probes.",
        x=Axis("time since the run's start", clocks[0].unit),
        panels=panels,
        shared_x=True,
    )


def _series(run: RunResults, clock: Clock, number: int) -> tuple[Series, ...]:
    causes = {id(one): cause_of(one) for one in run.transfers}
    found = []
    for cause in COLOURS:
        for role in reversed(ROLES):  # data first: its disc is the one in the legend
            chosen = [one for one in run.of(role) if causes[id(one)] == cause]
            if chosen:
                found.append(
                    Series(
                        factor_name(cause), clock.of_transfers(chosen), goodput_bps(chosen), COLOURS[cause],
                        symbol=_SYMBOLS[role],
                        labels=tuple(f"pair {one.pair.sequence} {role}" for one in chosen),
                        links=tuple(row_id(number, one.pair.sequence) for one in chosen),
                    )
                )  # fmt: skip
    return tuple(found)


def _of_runs(runs: Sequence[RunResults]) -> Chart:
    """The median of each run's data transfers, by when the run began."""
    starts = np.array([Clock(run).start_ns for run in runs], np.int64)
    unit_s, unit = time_unit(float(np.ptp(starts)) / 1e9)
    # Runs that all began at once stand in their order.
    at_once = bool(np.ptp(starts) == 0)
    times = np.arange(1.0, len(runs) + 1) if at_once else (starts - starts.min()) / 1e9 / unit_s
    medians = np.array(
        [float(np.median(rates)) if len(rates := goodput_bps(run.of("data"))) else np.nan for run in runs]
    )
    causes = [_cause_of_run(run) for run in runs]
    series = []
    for cause in COLOURS:
        chosen = [place for place, one in enumerate(causes) if one == cause]
        if chosen:
            names = tuple(runs[place].name for place in chosen)
            series.append(Series(factor_name(cause), times[chosen], medians[chosen], COLOURS[cause], labels=names))
    x = Axis("place in the order given", "", whole=True) if at_once else Axis("time since the first run's start", unit)
    return Chart(
        name="throughput-by-cause",
        title="Throughput of each run, and what limited it",
        caption="Each point is a run: the median throughput of its data transfers.",
        x=x,
        panels=(Panel("median throughput", Axis("throughput", "bit/s"), tuple(series)),),
        shared_x=True,
    )


def _cause_of_run(run: RunResults) -> str:
    found = run_verdict(run)
    if not found.judged:
        return NOT_JUDGED
    return UNDECIDED if found.is_open or found.factor is None else found.factor
