"""The host counters of a run folder (`host/SIDE.csv`) as shares and rates over the seconds between two rows.

All of these counters are cumulative. A difference below 0 is a restart (a reboot, a driver that was reset, 32 bits that
were full) and no measurement; nor is one over a pause of the sampler, or over a wall clock that was set.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.read.side.metrics import Metric, Periods, Split, Unit
from vmtrace.analyze.read.side.table import Table, read_table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ALLOWANCES = ("bw_in", "bw_out", "pps", "conntrack", "linklocal")
"""Of an EC2 instance, by the names of the ENA driver's counters."""

_LONGEST_INTERVALS = 10
"""A difference over more intervals than this bridges a pause: the mean over it hides what happened inside."""
_CLOCK_STEP_S = 0.001
_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Guest time is in user and nice, too (proc_stat(5))."""
_EACH_CPU = re.compile(r"cpu(\d+)_idle_s")
_CPU_COLUMNS = frozenset({f"cpu_{state}_s" for state in _STATES})
_COUNTED = (
    ("softnet_dropped", "packets dropped from full receive queues"),
    ("softnet_time_squeeze", "receiving stopped with work left"),
    ("interface_rx_dropped", "packets dropped in receiving"),
    ("interface_tx_dropped", "packets dropped in sending"),
    ("interface_rx_missed_errors", "packets that the card had no room for"),
    *((f"nic_{name}_allowance_exceeded", f"packets beyond the {name} allowance") for name in ALLOWANCES),
)
_WAITING = (
    ("pressure_cpu_some_s", "tasks waiting for a processor"),
    ("pressure_memory_some_s", "tasks waiting for memory"),
    ("pressure_io_some_s", "tasks waiting for disks"),
    ("throttled_s", "time stopped by a CPU quota"),
    ("run_delay_s", "the program's threads waiting for a processor"),
)

CPU_HARMLESS, STEAL_HARMLESS, PRESSURE_HARMLESS = 0.5, 0.01, 0.05


def host_files(folder: Path, side: str) -> list[Path]:
    """`SIDE.csv`, then `SIDE-2.csv` and so on: those of later sessions."""
    numbered = []
    for path in folder.glob(f"{side}*.csv"):
        match = re.fullmatch(rf"{side}(?:-(\d{{1,6}}))?\.csv", path.name)
        if match:
            numbered.append((int(match[1] or 1), path))
    return [path for _, path in sorted(numbered)]


def read_host(paths: list[Path], side: str) -> list[Periods]:
    """Every metric that the files hold. Raises OSError."""
    parts: dict[str, list[Periods]] = {}
    for path in paths:
        table = read_table(path, "time_ns")
        if table is not None and len(table) > 1:
            for found in Counters(table, side).periods():
                parts.setdefault(found.metric.name, []).append(found)
    return [_joined(one) for one in parts.values()]


class Counters:
    """One file's counters and the seconds between its rows."""

    def __init__(self, table: Table, side: str) -> None:
        self._table = table
        self._side = side
        time_ns = table.times_ns("time_ns")
        self._start_ns, self._end_ns = time_ns[:-1], time_ns[1:]
        self._seconds = (self._end_ns - self._start_ns) / 1e9
        # Whose clock went back has rows that lie in other periods: they have no place in time.
        self._in_order = (self._seconds > 0) & (self._start_ns >= np.maximum.accumulate(time_ns)[:-1])
        usual_s = self._interval_s()
        self._paused = self._seconds > _LONGEST_INTERVALS * usual_s
        self._stepped = np.abs(self._difference("clock_stepped_s", 0.0)) > _CLOCK_STEP_S

    def periods(self) -> Iterator[Periods]:
        """The metrics of this file."""
        shares, busiest = self.cpu_shares(), None
        if "busy" in shares:
            yield self._made(self._metric("cpu", "CPU", harmless=CPU_HARMLESS), shares["busy"])
            busiest = self._busiest(shares["passed"])
        if busiest is not None:
            yield self._made(self._metric("cpu_busiest", "the busiest processor", harmless=CPU_HARMLESS), busiest)
        if "steal" in shares:
            yield self._made(self._metric("cpu_steal", "steal", harmless=STEAL_HARMLESS), shares["steal"])
        for state in ("user", "nice", "system", "softirq", "iowait"):
            if state in shares:
                yield self._made(self._metric(f"cpu_{state}", state, asked=False), shares[state])
        for column, label in _WAITING:
            if column in self._table.columns:
                name = column.removesuffix("_s").removesuffix("_some")
                metric = self._metric(name, label, harmless=PRESSURE_HARMLESS)
                yield self._made(metric, self._rate(column))
        for column, label in _COUNTED:
            if column in self._table.columns:
                yield self._made(self._metric(column, label, "per_s", "any"), self._rate(column))

    def _metric(
        self,
        name: str,
        label: str,
        unit: Unit = "share",
        split: Split = "break",
        harmless: float | None = None,
        *,
        asked: bool = True,
    ) -> Metric:
        full = f"{self._side}_{name}"
        return Metric(full, label, "host", unit, split=split, harmless=harmless, place=self._side, asked=asked)

    def cpu_shares(self) -> dict[str, Floats]:
        """Shares of the time of all processors by state, `passed` in seconds.

        `busy` is what the host itself did: not idle, not waiting for disks, and not what the hypervisor took.
        """
        there = [name for name in self._table.columns if name in _CPU_COLUMNS]
        if "cpu_idle_s" not in there:
            return {}
        steps = {name: self._difference(name) for name in there}
        passed = np.sum(list(steps.values()), axis=0)
        # One state that fell is a restart of all of them.
        good = (passed > 0) & np.all([step >= 0 for step in steps.values()], axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = {name[4:-2]: np.where(good, step / passed, np.nan) for name, step in steps.items()}
        others = [shares[state] for state in ("idle", "iowait", "steal") if state in shares]
        shares["busy"] = 1 - np.sum(others, axis=0)
        shares["passed"] = np.where(good, passed, np.nan)
        return shares

    def _busiest(self, passed_s: Floats) -> Floats | None:
        """Share of the processor that was idle least: one full processor among many stops what runs on it."""
        idle = [name for name in self._table.columns if _EACH_CPU.fullmatch(name)]
        if len(idle) < 2:
            return None
        # Stolen time is no work of the host; a kernel that does not count it has none.
        steps = np.array([self._difference(name) for name in idle])
        stolen = np.array([self._difference(name.replace("idle", "steal"), 0.0) for name in idle])
        steps = np.where(stolen < 0, np.nan, steps + stolen)
        with np.errstate(invalid="ignore"):
            shares = 1 - np.clip(steps / (passed_s / len(idle)), 0.0, 1.0)
        busiest: Floats = np.where(np.any(~(steps >= 0), axis=0), np.nan, shares.max(axis=0))
        return busiest

    def _interval_s(self) -> float:
        try:
            shown = float(self._table.provenance.get("interval_s", ""))
        except ValueError:
            shown = 0.0
        good = self._seconds[self._seconds > 0]
        return max(shown, float(np.median(good)) if len(good) else 0.0)

    def _difference(self, column: str, absent: float | None = None) -> Floats:
        if column not in self._table.columns and absent is not None:
            return np.full(len(self._seconds), absent)
        step: Floats = np.diff(self._table.numbers(column))
        return step

    def _rate(self, column: str) -> Floats:
        step = self._difference(column)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate: Floats = np.where(step >= 0, step / self._seconds, np.nan)
        return rate

    def _made(self, metric: Metric, value: Floats) -> Periods:
        unusable = (
            ("the clock was set", self._stepped),
            ("the sampler paused", self._paused),
            ("the counter began again, or was not read", np.isnan(value)),
        )
        bad, missing = ~self._in_order, []
        for reason, where in unusable:
            missing.append((reason, int((where & ~bad).sum())))
            bad = bad | where
        chosen = self._in_order
        return Periods(
            metric,
            self._start_ns[chosen],
            self._end_ns[chosen],
            np.where(bad, np.nan, value)[chosen],
            tuple((reason, count) for reason, count in missing if count),
        )


def _joined(parts: list[Periods]) -> Periods:
    """The same metric of several files, in order; what lies before the end of an earlier file is left out."""
    whole = parts[0]
    for part in parts[1:]:
        later = part.start_ns >= (whole.end_ns[-1] if len(whole.end_ns) else 0)
        reasons = dict(whole.missing)
        for reason, count in part.missing:
            reasons[reason] = reasons.get(reason, 0) + count
        whole = Periods(
            whole.metric,
            np.concatenate([whole.start_ns, part.start_ns[later]]),
            np.concatenate([whole.end_ns, part.end_ns[later]]),
            np.concatenate([whole.value, part.value[later]]),
            tuple(reasons.items()),
        )
    return whole
