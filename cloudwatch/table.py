"""The table of all points: one row for each metric, statistic and period, in order; and its reader's rules.

A CSV file that begins with provenance as the other tables of a run folder do. No cell has a comma or a quote: in names
and dimensions these, and the signs that separate dimensions, are percent-encoded.
"""

import json
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vmtrace.cloudwatch import periods
from vmtrace.cloudwatch.answers import Dimensions, Metric, Series
from vmtrace.cloudwatch.catalog import kind_of
from vmtrace.cloudwatch.counters import Sample, deltas, is_cumulative
from vmtrace.cloudwatch.records import Record

SCHEMA = "vmtrace.cloudwatch_table/1"
COLUMNS = (
    "start_ns", "period_s", "metric", "namespace", "dimensions", "statistic",
    "value", "unit", "cumulative", "delta", "open",
)  # fmt: skip
_ENCODED = {ord(letter): f"%{ord(letter):02X}" for letter in '%,;="\r\n'}
_SAMPLE_COUNT = "SampleCount"


@dataclass(frozen=True, slots=True)
class Row:
    """One point. None is what is not known: in the file an empty cell."""

    start_ns: int
    period_s: int | None
    metric: Metric
    statistic: str | None
    value: float
    unit: str | None
    cumulative: bool | None
    """True for a counter since some start, false for what is of the period alone."""
    delta: float | None
    """What a cumulative counter counted in this period; none after a reset or a missing period."""
    open: bool | None
    """True where the value could still change after it was asked for."""

    def cells(self) -> tuple[str, ...]:
        """As text."""
        return (
            str(self.start_ns),
            _spoken(self.period_s),
            _encoded(self.metric.name),
            _encoded(self.metric.namespace or ""),
            dimensions_text(self.metric.dimensions),
            _encoded(self.statistic or ""),
            _spoken(self.value),
            _encoded(self.unit or ""),
            _spoken(self.cumulative),
            _spoken(self.delta),
            _spoken(self.open),
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """All points of one statistic of a metric with one period, from whichever fetches."""

    metric: Metric
    statistic: str | None
    period_s: int | None
    unit: str | None
    cumulative: bool | None
    rows: tuple[Row, ...]


def merged(series: Iterable[Series]) -> list[Merged]:
    """The series of several fetches together; of a point that came twice the later one counts."""
    units = dict[tuple[Metric, str | None, int | None], str | None]()
    points = dict[tuple[Metric, str | None, int | None], dict[int, tuple[float, int | None]]]()
    for one in series:
        key = (one.metric, one.statistic, one.period_s)
        units[key] = one.unit or units.get(key)
        points.setdefault(key, {}).update({sample.start_ns: (sample.value, one.asked_ns) for sample in one.samples})
    ordered = sorted(points, key=lambda key: (key[0].namespace or "", key[0].name, key[0].dimensions, str(key[1:])))
    return [_merged(key, units[key], points[key]) for key in ordered]


def table_text(series: Iterable[Series], provenance: Record) -> str:
    """The whole file."""
    lines = [f"# {name}: {'null' if value is None else _spoken(value)}" for name, value in _header(provenance)]
    lines.append(",".join(COLUMNS))
    lines += [",".join(row.cells()) for one in merged(series) for row in one.rows]
    return "\n".join(lines) + "\n"


def dimensions_text(dimensions: Dimensions) -> str:
    """`InstanceId=i-0123;interface=eth0`."""
    return ";".join(f"{_encoded(name)}={_encoded(value)}" for name, value in dimensions)


def _merged(
    key: tuple[Metric, str | None, int | None], unit: str | None, points: dict[int, tuple[float, int | None]]
) -> Merged:
    metric, statistic, period_s = key
    samples = [Sample(start_ns, points[start_ns][0]) for start_ns in sorted(points)]
    cumulative = _cumulative(metric, statistic, samples)
    counted = deltas(samples, period_s) if cumulative and period_s else iter([None] * len(samples))
    rows = tuple(
        Row(sample.start_ns, period_s, metric, statistic, sample.value, unit, cumulative, delta,
            _is_open(sample.start_ns, period_s, points[sample.start_ns][1]))
        for sample, delta in zip(samples, counted, strict=True)
    )  # fmt: skip
    return Merged(metric, statistic, period_s, unit, cumulative, rows)


def _cumulative(metric: Metric, statistic: str | None, samples: list[Sample]) -> bool | None:
    kind = kind_of(metric.name)
    if statistic == _SAMPLE_COUNT or (kind is not None and not kind.accumulates):
        return False
    return is_cumulative([sample.value for sample in samples], documented=kind is not None)


def _is_open(start_ns: int, period_s: int | None, asked_ns: int | None) -> bool | None:
    if asked_ns is None or period_s is None:
        return None
    return periods.is_open(start_ns, period_s, asked_ns)


def _header(provenance: Record) -> Iterator[tuple[str, object]]:
    """The keys of all tables of a run folder, and where the metrics are of. The stamps are of CloudWatch's clock."""
    yield "schema", SCHEMA
    yield "vmtrace", provenance["vmtrace"]
    yield "host", platform.node()
    yield "kernel", platform.release()
    yield "clock_source", None
    yield "clock_synchronised", None
    yield "command", provenance["command"]
    yield "interval_s", None
    yield "instance_id", provenance["instance_id"]
    yield "region", provenance["region"]


def _encoded(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text.translate(_ENCODED))


def _spoken(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else " " for letter in value)
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value)
