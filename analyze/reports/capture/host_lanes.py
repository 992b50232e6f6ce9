"""Lanes of the host beside a capture of a run folder: processor, steal, what ENA held back; CloudWatch's processor.

The counters of a side are by the clock of that side, as its captures are: nothing has to be moved. CloudWatch is asked
about the sender alone, so only captures made there have it.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vmtrace.analyze.charts.packet_series import Series
from vmtrace.analyze.read.records.run_folder import inside
from vmtrace.analyze.read.side.cloudwatch import read_cloudwatch
from vmtrace.analyze.read.side.host import ALLOWANCES, host_files, read_host
from vmtrace.analyze.read.side.metrics import Periods
from vmtrace.analyze.reports.capture.lanes import Packing
from vmtrace.analyze.words.document import Record

Plain = dict[str, Any]

_POINT_LIMIT = 2_000
_SIDES = ("sender", "receiver")
_ALLOWANCE_COLOURS = dict(zip(ALLOWANCES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B"), strict=True))


class Host(NamedTuple):
    """What is drawn of a host, and what could not be read of it."""

    lanes: list[Plain]
    series: list[Plain]
    notes: list[str]


def host_lanes(capture: Path | None, record: Record) -> Host:
    """The host that this capture was made on; nothing if the capture lies in no run folder."""
    place = _side_of(capture) if capture is not None else None
    if place is None:
        return Host([], [], [])
    run, side = place
    metrics, notes = _metrics(run, side)
    found = {one.metric.name: one for one in metrics}
    draw = _Drawing(found, record)
    wanted: tuple[tuple[Plain, list[tuple[str, str, str]]], ...] = (
        (
            {"key": "cpu", "title": f"CPU of the {side}", "unit": "%", "zero": True},
            [
                (f"{side}_cpu", "in use", "#555555"),
                (f"{side}_cpu_busiest", "busiest processor", "#0072B2"),
                (f"{side}_cpu_steal", "steal", "#D55E00"),
                ("cloudwatch_CPUUtilization", "CloudWatch", "#009E73"),
            ],
        ),
        (
            {"key": "ena", "title": "beyond ENA's allowances", "unit": "packets/s", "zero": True},
            [
                (f"{side}_nic_{name}_allowance_exceeded", name.replace("_", " "), _ALLOWANCE_COLOURS[name])
                for name in ALLOWANCES
            ],
        ),
    )
    lanes, series = list[Plain](), list[Plain]()
    for lane, asked in wanted:
        drawn = [line for dashed, look in enumerate(asked) if (line := draw.line(lane, *look, dashed))]
        if drawn:
            lanes.append(lane)
            series += drawn
    return Host(lanes, series, notes)


def _side_of(capture: Path) -> tuple[Path, str] | None:
    """The run folder and the side of a capture in `RUN/packets/SIDE/`."""
    folder = capture.absolute().parent
    run = folder.parent.parent
    in_run = folder.name in _SIDES and folder.parent.name == "packets" and (run / "run.json").is_file()
    return (run, folder.name) if in_run else None


def _metrics(run: Path, side: str) -> tuple[list[Periods], list[str]]:
    """What was recorded beside the capture, and a line for each file that cannot be read."""
    found, notes = list[Periods](), list[str]()
    counters = [path for path in host_files(run / "host", side) if inside(run, f"host/{path.name}")]
    try:
        found += read_host(counters, side)
    except OSError as error:
        notes.append(f"The counters of the {side}'s host cannot be read: {error.strerror}.")
    cloudwatch = inside(run, "cloudwatch.csv") if side == "sender" else None
    try:
        found += read_cloudwatch(cloudwatch) if cloudwatch else []
    except OSError as error:
        notes.append(f"CloudWatch's table cannot be read: {error.strerror}.")
    return found, notes


class _Drawing:
    """Lines of metrics over the time of one connection."""

    def __init__(self, metrics: dict[str, Periods], record: Record) -> None:
        self._metrics = metrics
        self._start_ns: int = record["start_ns"]
        self._duration_s: float = record["duration_s"]
        self._pack = Packing(self._duration_s, _POINT_LIMIT)

    def line(self, lane: Plain, name: str, label: str, colour: str, dashed: int) -> Plain | None:
        """Each period's value from its start on; where there is none, or the next comes later, the line is broken."""
        periods = self._metrics.get(name)
        if periods is None:
            return None
        start = (periods.start_ns - self._start_ns) / 1e9
        end = (periods.end_ns - self._start_ns) / 1e9
        there = (end > 0) & (start < self._duration_s)
        if not np.any(there & ~np.isnan(periods.value)):
            return None
        start, end = np.maximum(start[there], 0.0), np.minimum(end[there], self._duration_s)
        value = periods.value[there] * (100.0 if lane["unit"] == "%" else 1.0)
        broken = np.append(start[1:] > end[:-1], True)
        # A value holds to its period's end: there the next one begins, or the line breaks off.
        time_s = np.concatenate((start, end[broken]))
        values = np.concatenate((value, np.full(int(broken.sum()), np.nan)))
        order = np.argsort(time_s, kind="stable")
        period = f" ({periods.period_s:.3g} s)" if periods.period_s else ""
        drawn = Series(time_s[order], values[order])
        return self._pack.steps(lane["key"], drawn, label + period, colour, dashed=dashed)
