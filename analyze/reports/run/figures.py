"""Which figures a report has, in the order of the study."""

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.reports.run.charts import (
    along_run,
    by_cause,
    distributions,
    host_cpu,
    of_transfer,
    spacing_throughput,
    throughput_pairs,
)
from vmtrace.analyze.reports.run.charts.of_transfer import PairPackets
from vmtrace.analyze.reports.run.results import Choice, RunResults

MOST_RUNS = 6
"""Runs whose figures are drawn in full: more colours than that cannot be told apart."""


def charts(runs: list[RunResults], choices: list[Choice]) -> list[Chart]:
    """All figures of these runs; `choices` is the pair of each run whose packets are drawn.

    Of more than `MOST_RUNS` the first have all figures, the others a point in the first figure.
    """
    lead = by_cause.chart(runs)
    runs, choices = runs[:MOST_RUNS], choices[:MOST_RUNS]
    suffixes = [f"-{number}" if len(runs) > 1 else "" for number in range(1, len(runs) + 1)]
    found = [lead, *distributions.chart(runs), throughput_pairs.chart(runs)]
    for run, suffix in zip(runs, suffixes, strict=True):
        found.append(along_run.chart(run, suffix))
    for run, choice, suffix in zip(runs, choices, suffixes, strict=True):
        if any(one.files for one in run.transfers):
            found += _inside(run, choice, suffix)
    found.append(spacing_throughput.chart(runs))
    without_waits = spacing_throughput.unwaited(runs)
    found += [without_waits] if without_waits is not None else []
    for run, suffix in zip(runs, suffixes, strict=True):
        cpu = host_cpu.chart(run, suffix)
        found += [cpu] if cpu is not None else []
    return found


def _inside(run: RunResults, choice: Choice, suffix: str) -> list[Chart]:
    """The figures that look into the chosen pair, and into a usual one of its index beside it."""
    chosen = PairPackets(run, choice)
    usual = run.usual(choice.pair.index)
    of_usual_pair = []
    if usual.pair.sequence != choice.pair.sequence:
        of_usual_pair = [of_transfer.spacing(PairPackets(run, usual), "figure-5-spacing", suffix)]
    return [
        of_transfer.rtt(chosen, suffix),
        *of_usual_pair,
        of_transfer.spacing(chosen, "figure-7-spacing", suffix),
        of_transfer.spacing_and_window(chosen, suffix),
    ]
