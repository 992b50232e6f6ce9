"""What a fetch or an import says in the end: a table for a person, a record for a program."""

from vmtrace.cloudwatch.fetching import Result
from vmtrace.cloudwatch.records import Record, iso, one_line
from vmtrace.cloudwatch.table import Merged, dimensions_text, merged

SCHEMA = "vmtrace.cloudwatch_summary/1"


def summary_text(result: Result) -> str:
    """A few lines, and one for each statistic."""
    tables = merged(result.series)
    who = result.instance_id or "imported metrics"
    where = f" in {result.region}" if result.region else ""
    monitoring = f", {result.monitoring} monitoring" if result.monitoring else ""
    points = sum(len(one.rows) for one in tables)
    lines = [
        f"{who}{where}{monitoring}, {iso(result.start_ns)} to {iso(result.end_ns)}",
        "",
        f"{'metric':<44} {'statistic':<11} {'period':>7} {'points':>7} {'min':>12} {'mean':>12} {'max':>12} unit",
        *(_line(one) for one in tables),
        "",
        f"{points:,} points of {len({one.metric for one in tables})} metrics",
    ]
    return "\n".join(lines)


def summary_record(result: Result, files: list[str]) -> Record:
    """The same for a program."""
    return {
        "schema": SCHEMA,
        "instance_id": result.instance_id,
        "region": result.region,
        "start_ns": result.start_ns,
        "end_ns": result.end_ns,
        "monitoring": result.monitoring,
        "files": files,
        "series": [_series(one) for one in merged(result.series)],
        "notes": list(result.notes),
        "problems": list(result.problems),
    }


def _line(one: Merged) -> str:
    dimensions = ";".join(f"{name}={value}" for name, value in one.metric.dimensions if name in _TELLING)
    name = one_line(f"{one.metric.name} {dimensions}".strip())
    values = [row.value for row in one.rows]
    period = "-" if one.period_s is None else f"{one.period_s} s"
    if one.cumulative:
        values = [row.delta for row in one.rows if row.delta is not None]
        name += " (counted)"
    numbers = (min(values), sum(values) / len(values), max(values)) if values else ("-", "-", "-")
    shown = " ".join(f"{_short(number):>12}" for number in numbers)
    statistic = one_line(one.statistic or "-")
    return f"{name:<44} {statistic:<11} {period:>7} {len(one.rows):>7,} {shown} {one_line(one.unit or '')}".rstrip()


_TELLING = {"interface", "cpu"}
"""Dimensions that tell series of one instance apart."""


def _short(number: float | str) -> str:
    return number if isinstance(number, str) else f"{number:,.6g}"


def _series(one: Merged) -> Record:
    return {
        "metric": one.metric.name,
        "namespace": one.metric.namespace,
        "dimensions": dimensions_text(one.metric.dimensions),
        "statistic": one.statistic,
        "period_s": one.period_s,
        "unit": one.unit,
        "cumulative": one.cumulative,
        "points": len(one.rows),
        "open_points": sum(row.open is True for row in one.rows),
        "first_ns": one.rows[0].start_ns,
        "last_ns": one.rows[-1].start_ns,
    }
