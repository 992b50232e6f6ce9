"""The table of CloudWatch's points in a run folder (`cloudwatch.csv`) as metrics over periods.

A counter that accumulates (`cumulative` true) counts by its `delta`; without one (its first period, a reset, a missing
period before it) nobody knows what it counted. A value that could still change when it was asked for is not used. Of a
metric with points of several periods the shortest period counts.

Traffic metrics (`NetworkOut` and its kin) are left out: they are the transfers themselves, counted elsewhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.read.side.host import ALLOWANCES, CPU_HARMLESS, STEAL_HARMLESS
from vmtrace.analyze.read.side.metrics import Harm, Metric, Periods, Split, Unit
from vmtrace.analyze.read.side.table import Table, read_table

NS = 10**9
_TEXT_COLUMNS = ("metric", "dimensions", "statistic", "cumulative", "open")
_NUMBER_COLUMNS = ("period_s", "value", "delta")
_LONGEST_PERIOD_S = 10**7


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a metric is read: of which statistic, and what its number means."""

    pattern: str
    label: str
    statistic: str
    unit: Unit
    scale: float = 1.0
    harm: Harm = "high"
    split: Split = "break"
    harmless: float | None = None
    counts: bool = False
    """What happened in the period, for a rate; else a level."""


_KINDS = (
    _Kind("CPUUtilization", "CPUUtilization", "Average", "share", 0.01, harmless=CPU_HARMLESS),
    _Kind("CPUCreditBalance", "CPU credits", "Average", "count", harm="low"),
    _Kind("CPUCreditUsage", "CPU credits spent", "Sum", "per_s", counts=True),
    _Kind("CPUSurplusCreditBalance", "surplus CPU credits", "Average", "count"),
    _Kind("CPUSurplusCreditsCharged", "surplus CPU credits charged", "Average", "count", split="any"),
    _Kind(r"EBSIOBalance%", "EBS I/O balance", "Average", "share", 0.01, harm="low"),
    _Kind(r"EBSByteBalance%", "EBS byte balance", "Average", "share", 0.01, harm="low"),
    _Kind("StatusCheckFailed", "failed status checks", "Maximum", "count", split="any"),
    _Kind("cpu_usage_steal", "the agent's steal", "Average", "share", 0.01, harmless=STEAL_HARMLESS),
    _Kind(r"net_drop_(in|out)", "packets dropped by the interface ({0})", "Sum", "per_s", split="any", counts=True),
    *(
        _Kind(f"ethtool_{name}_allowance_exceeded", f"packets beyond the {name} allowance", "Maximum", "per_s",
              split="any", counts=True)
        for name in ALLOWANCES
    ),
    _Kind("ethtool_conntrack_allowance_available", "connections left to track", "Average", "count", harm="low"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Series:
    metric: str
    dimensions: str
    statistic: str
    period_s: int


def read_cloudwatch(path: Path) -> list[Periods]:
    """Every known metric of the table that has a point. Raises OSError."""
    table = read_table(path, "start_ns")
    if table is None or not {*_TEXT_COLUMNS, *_NUMBER_COLUMNS} <= table.columns.keys():
        return []
    start_ns, numbers = table.times_ns("start_ns"), {name: table.numbers(name) for name in _NUMBER_COLUMNS}
    rows: dict[_Series, list[int]] = {}
    for row, series in enumerate(_series(table, numbers["period_s"])):
        if series is not None:
            rows.setdefault(series, []).append(row)
    shortest = dict[tuple[str, str, str], _Series]()
    for series in sorted(rows, key=lambda one: one.period_s):
        shortest.setdefault((series.metric, series.dimensions, series.statistic), series)
    found = list[Periods]()
    for series in shortest.values():
        which = np.array(rows[series], np.int64)
        # Of a point that stands twice the later row counts; the others keep their order.
        _, last = np.unique(start_ns[which][::-1], return_index=True)
        which = which[::-1][last]
        found += _periods(series, table, which, start_ns[which], {name: part[which] for name, part in numbers.items()})
    return sorted(found, key=lambda one: one.metric.name)


def _series(table: Table, period_s: NDArray[np.float64]) -> Iterator[_Series | None]:
    """Which series each row is of; None for one without a period."""
    names = (table.columns[name] for name in ("metric", "dimensions", "statistic"))
    for (metric, dimensions, statistic), length in zip(zip(*names, strict=True), period_s, strict=True):
        usable = 0 < length <= _LONGEST_PERIOD_S and length == int(length)
        yield _Series(unquote(metric), dimensions, statistic, int(length)) if usable else None


def _periods(
    series: _Series,
    table: Table,
    which: NDArray[np.int64],
    start_ns: NDArray[np.int64],
    numbers: dict[str, NDArray[np.float64]],
) -> Iterator[Periods]:
    for kind in _KINDS:
        match = re.fullmatch(kind.pattern, series.metric)
        if match is None or kind.statistic != series.statistic:
            continue
        flags = {name: [table.columns[name][row] for row in which] for name in ("cumulative", "open")}
        accumulates = np.array([flag == "true" for flag in flags["cumulative"]])
        unknown = np.array([flag == "" for flag in flags["cumulative"]]) & kind.counts
        is_open = np.array([flag == "true" for flag in flags["open"]])
        value = np.where(accumulates & kind.counts, numbers["delta"], numbers["value"]) * kind.scale
        value = value / series.period_s if kind.counts else value
        unusable = (
            ("the period was still open when it was asked for", is_open),
            ("not known whether it accumulates", unknown),
            ("the counter began again, or the period before is missing", np.isnan(value)),
        )
        bad, missing = np.zeros(len(which), np.bool_), []
        for reason, where in unusable:
            missing.append((reason, int((where & ~bad).sum())))
            bad |= where
        dimensions = _others(series.dimensions)
        label = kind.label.format(*match.groups()) + (f" ({dimensions})" if dimensions else "")
        metric = Metric(
            f"cloudwatch_{series.metric}", label, "cloudwatch", kind.unit, kind.harm, kind.split, kind.harmless,
            "CloudWatch", dimensions,
        )  # fmt: skip
        # Points closer together than their period (of two sources) do not overlap: the later one ends the earlier.
        end_ns = start_ns + series.period_s * NS
        end_ns[:-1] = np.minimum(end_ns[:-1], start_ns[1:])
        reasons = tuple((reason, count) for reason, count in missing if count)
        yield Periods(metric, start_ns, end_ns, np.where(bad, np.nan, value), reasons)


def _others(dimensions: str) -> str | None:
    """The dimensions that tell several series of an instance apart: all but the instance's own."""
    kept = [part for part in dimensions.split(";") if part and part.partition("=")[0] not in _OF_INSTANCE]
    return unquote(";".join(kept)) or None


_OF_INSTANCE = frozenset({"InstanceId", "InstanceType", "ImageId", "AutoScalingGroupName", "host"})
