"""What the sender's processors did along the run, by its own counters (Fig. 9 of the study, seen from inside)."""

import csv
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from analyze.run.chart import Axis, Chart, Panel, Series
from analyze.run.charts.along_run import Clock
from analyze.run.results import RunResults
from analyze.run.run_folder import inside
from analyze.run.statistics import Floats
from analyze.units import seconds

FILE = "host/sender.csv"
_STRETCHES = 720
"""A line of more points than this along a run is a band."""
_IDLE = ("cpu_idle_s", "cpu_iowait_s")
_PARTS = {"cpu_user_s": "user", "cpu_system_s": "system", "cpu_iowait_s": "waiting for disks", "cpu_steal_s": "stolen"}
_COLOURS = {"user": "#56B4E9", "system": "#009E73", "waiting for disks": "#999999", "stolen": "#D55E00"}
_COUNTED_ELSEWHERE = ("cpu_guest_s", "cpu_guest_nice_s")
"""The kernel counts these as user and nice time, too."""


def chart(results: RunResults, suffix: str) -> Chart | None:
    """Share of processor time by state; None if the run has no counters."""
    counters = _counters(results)
    if counters is None:
        return None
    # The counters are cumulative: leaving out readings loses nothing, and gives the mean over a longer stretch.
    step = max(1, len(counters[0]) // _STRETCHES)
    time_ns, states = counters[0][::step], {name: values[::step] for name, values in counters[1].items()}
    clock = Clock(results)
    passed = np.diff(np.sum(list(states.values()), axis=0))
    # Counters that start again (a reboot between two sessions) and a second read twice give no share.
    good = passed > 0
    for values in states.values():
        good &= np.diff(values) >= 0

    def share(values: Floats) -> Floats:
        part: Floats = 100 * np.diff(values)[good] / passed[good]
        return part

    times = clock.of_times([int(time) for time in time_ns[1:][good]])
    idle = np.sum([states[name] for name in _IDLE if name in states], axis=0)
    busy: Floats = 100 - share(idle) if np.ndim(idle) else np.empty(0)
    series = [Series("busy", times, busy, "#0072B2", "line")] if len(busy) else []
    parts = [
        Series(name, times, share(states[column]), _COLOURS[name], "line")
        for column, name in _PARTS.items()
        if column in states
    ]
    return Chart(
        name=f"figure-9-cpu{suffix}",
        title=f"Processor time of the sender along {results.name}",
        caption=f"Shares of the time of all processors, each over {seconds(_stretch_s(time_ns))}."
        " Stolen: the hypervisor ran something else.",
        x=Axis("time since the run's start", clock.unit),
        panels=(
            Panel("utilisation", Axis("utilisation", "%"), tuple(series)),
            Panel("by state", Axis("share", "%"), tuple(parts)),
        ),
        shared_x=True,
    )


def _stretch_s(time_ns: Floats) -> float:
    return float(np.median(np.diff(time_ns))) / 1e9


def _counters(results: RunResults) -> tuple[Floats, dict[str, Floats]] | None:
    """Times and the cumulative columns of processor time; None if the file is absent or has none."""
    path = inside(results.run.folder, FILE)
    if path is None:
        return None
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(line for line in file if not line.startswith("#") and "\0" not in line)
        header = next(_rows(rows), [])
        names = [name for name in header if name.startswith("cpu_") and name.endswith("_s")]
        names = [name for name in names if name not in _COUNTED_ELSEWHERE]
        if "time_ns" not in header or not names:
            return None
        places = [header.index(name) for name in ("time_ns", *names)]
        table = np.array([numbers for row in _rows(rows) if (numbers := _numbers(row, places))], np.float64)
    if len(table) < 2:
        return None
    return table[:, 0], {name: table[:, number] for number, name in enumerate(names, 1)}


def _rows(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows up to one that is no CSV at all."""
    with suppress(csv.Error):
        yield from reader


def _numbers(row: list[str], places: list[int]) -> list[float] | None:
    """The row's numbers; None for a torn row, and for one with a value missing."""
    try:
        values = [float(row[place]) for place in places]
    except (IndexError, ValueError):
        return None
    return values if np.all(np.isfinite(values)) else None
