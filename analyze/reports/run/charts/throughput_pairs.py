"""Probe against data throughput, index by index (Fig. 3 of the study)."""

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, Symbol, reference, span
from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.tables import pair_throughput
from vmtrace.analyze.stats import estimates
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.words.palette import RUNS
from vmtrace.analyze.words.units import si

_FAR_APART = 10.0
"""Runs whose usual throughput differs by more than this would leave nothing to see of the slower one."""


def chart(runs: list[RunResults]) -> Chart:
    """A panel for each index that has pairs; a colour for each run. Runs far apart are drawn on logarithmic axes."""
    log = _far_apart(runs)
    indices = list(dict.fromkeys(index for run in runs for index in run.indices if run.of("data", index)))
    return Chart(
        name="figure-3-probe-and-data-throughput",
        title="Throughput of a pair's probe and data transfer, by index",
        caption="Each point is a pair. On the dashed line probe and data have the same throughput. r is Pearson's"
        " correlation, for one run with its 95 % confidence interval.",
        x=Axis("probe throughput", "bit/s", log),
        panels=tuple(_panel(runs, index, log) for index in indices),
        columns=min(5, max(1, len(indices))),
    )


def _far_apart(runs: list[RunResults]) -> bool:
    """Whether the medians of the runs, of probes or of data transfers, are further apart than one linear axis shows."""
    for role in ROLES:
        rates = [np.array([one.transfer.goodput_bps or np.nan for one in run.of(role)], np.float64) for run in runs]
        medians = [float(np.median(known)) for rate in rates if len(known := rate[np.isfinite(rate)])]
        if medians and max(medians) > _FAR_APART * min(medians):
            return True
    return False


def _panel(runs: list[RunResults], index: str, log: bool) -> Panel:
    series, notes = list[Series](), list[str]()
    for number, run in enumerate(runs):
        probe_bps, data_bps = pair_throughput(run, index)
        if not len(probe_bps):
            continue
        symbol: Symbol = "circle" if number == 0 else "ring"
        series.append(Series(run.name, probe_bps, data_bps, RUNS[number % len(RUNS)], symbol=symbol))
        r = estimates.pearson(probe_bps, data_bps)
        notes.append(correlation_text(r) if len(runs) == 1 else f"{run.name}: {_short(r)}")
    shared = span(*(np.minimum(one.x, one.y) for one in series), *(np.maximum(one.x, one.y) for one in series))
    if shared is not None:
        ends = (shared[0] if log else 0.0, shared[1])
        series.append(reference("probe = data", ends, ends))
    return Panel(
        title=f"{index}{_sizes(runs, index)}",
        y=Axis("data throughput", "bit/s", log),
        series=tuple(series),
        note="\n".join(notes),
    )


def correlation_text(r: Estimate) -> str:
    """`r = 0.53 [0.31, 0.70], n = 90`."""
    if r.value is None:
        return f"r not known, n = {r.n}"
    between = "" if r.low is None or r.high is None else f" [{r.low:.2f}, {r.high:.2f}]"
    return f"r = {r.value:.2f}{between}, n = {r.n}"


def _short(r: Estimate) -> str:
    """Without its interval, which is in the tables: several runs share a small panel."""
    return f"n = {r.n}" if r.value is None else f"r = {r.value:.2f}, n = {r.n}"


def _sizes(runs: list[RunResults], index: str) -> str:
    """Of probe and data, where all runs have the same: another scale gives other sizes."""
    found = set()
    for run in runs:
        probes, data = run.of("probe", index), run.of("data", index)
        if probes and data:
            found.add(f": {si(probes[0].transfer.bytes, 'B')}, {si(data[0].transfer.bytes, 'B')}")
    return found.pop() if len(found) == 1 else ""
