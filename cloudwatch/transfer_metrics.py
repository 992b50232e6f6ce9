"""What a run folder knows of each transfer, as values for custom metrics: read from `pairs.jsonl`, and what the packets
say from `analysis/transfers.parquet`, which `vmtrace report` leaves there.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.files import read
from vmtrace.cloudwatch.records import Record, number, one_line, record, text, whole
from vmtrace.cloudwatch.run_facts import pairs

PARTS = ("probe", "data")
MEASURED = "analysis/transfers.parquet"

_UNITS = {
    "goodput_bps": "Bits/Second",
    "ping_mean_s": "Seconds",
    "kernel_min_rtt_s": "Seconds",
    "kernel_retransmission_rate": "None",
    "loss_rate": "None",
    "retransmission_rate": "None",
    "rtt_min_s": "Seconds",
    "rtt_mean_s": "Seconds",
    "rtt_p95_s": "Seconds",
    "rtt_max_s": "Seconds",
    "spacing_mean_s": "Seconds",
    "spacing_p99_s": "Seconds",
    "spacing_max_s": "Seconds",
    "oversize": "Count",
    "verdict_confidence": "None",
    "verdict": "Count",
    "limited_time_share": "None",
    "lost_share": "None",
}
"""By the names that the run's report has, with CloudWatch's units: it has none for shares of 1."""
_OF_VERDICT = frozenset({"verdict_confidence", "verdict", "limited_time_share", "lost_share"})
"""These but the first are of one factor each."""
_OF_PROGRAMS = frozenset({"goodput_bps", "ping_mean_s", "kernel_min_rtt_s", "kernel_retransmission_rate"})
_OF_PACKETS = tuple(name for name in _UNITS if name not in _OF_PROGRAMS | _OF_VERDICT)
_LEAST_CONFIDENCE = 0.6
"""Below it a verdict is left open (docs/verdict.md); a test compares it with that of the analysis."""
_OPEN = "undetermined"
_FACTORS_NAMED = 9
_OTHERS = "other"
_WAITING = "idle"
"""Waiting for the other side loses nothing."""


@dataclass(frozen=True, slots=True)
class Value:
    """One number of one transfer."""

    sequence: int
    index: str | None
    """None for what is not told apart by it."""
    part: str
    time_ns: int
    """When the transfer began."""
    metric: str
    value: float
    factor: str | None = None
    """What limited the transfer, of a metric that is of one factor."""

    @property
    def unit(self) -> str:
        """As CloudWatch spells it."""
        return _UNITS[self.metric]

    @property
    def identity(self) -> str:
        """What makes it the same value when the run is published again."""
        of_factor = f" {self.factor}" if self.factor else ""
        return f"{self.sequence} {self.part} {self.metric}{of_factor}"


def few(values: Sequence[Value]) -> list[Value]:
    """The same for at most 40 custom metrics: over all indices, and of factors their share of data transfers' time.

    The factors that limited longest are named, the others added up.
    """
    plain = [value for value in values if value.metric not in _OF_VERDICT or value.metric == "verdict_confidence"]
    shares = [value for value in values if value.metric == "limited_time_share" and value.part == "data"]
    total = dict[str | None, float]()
    for value in shares:
        total[value.factor] = total.get(value.factor, 0.0) + value.value
    named = sorted(total, key=lambda factor: (-total[factor], factor or ""))[:_FACTORS_NAMED]
    others = dict[int, Value]()
    for value in shares:
        if value.factor not in named:
            before = others.get(value.sequence)
            so_far = before.value if before else 0.0
            others[value.sequence] = replace(value, factor=_OTHERS, value=so_far + value.value)
    kept = [value for value in shares if value.factor in named]
    return [replace(value, index=None) for value in (*plain, *kept, *others.values())]


def values_of(folder: Path, notes: list[str], *, verdicts: bool = True) -> list[Value]:
    """All values of a run's complete pairs, in order; those of the verdicts can be left out."""
    rows = _measured(folder, notes)
    measured = {place: _numbers(row) for place, row in rows.items()}
    limits = {place: _limits(row) for place, row in rows.items()} if verdicts else {}
    factors = sorted({factor for limit in limits.values() for factor in limit} - {_WAITING})
    found = list[Value]()
    for pair in pairs(folder):
        if pair.get("status") == "complete":
            found += _of_pair(pair, measured)
            if verdicts:
                found += _verdicts_of_pair(pair, rows, limits, factors)
    return found


def _verdicts_of_pair(
    pair: Record,
    rows: dict[tuple[int, str], Record],
    limits: dict[tuple[int, str], dict[str, tuple[float, float]]],
    factors: list[str],
) -> Iterator[Value]:
    """A factor that any transfer of the run has is there for all, 0 where it did not limit: the average is a mean.

    They have no index: with one, each would be ten custom metrics to pay in a plan of ten indices.
    """
    sequence = whole(pair.get("sequence"))
    if sequence is None:
        return
    for part in PARTS:
        time_ns, row = whole(record(pair.get(part)).get("start_ns")), rows.get((sequence, part))
        if time_ns is None or row is None:
            continue
        confidence, factor = number(row.get("verdict_confidence")), text(row.get("verdict_factor"))
        if confidence is not None and factor:
            yield Value(sequence, None, part, time_ns, "verdict_confidence", confidence)
            named = one_line(factor) if confidence >= _LEAST_CONFIDENCE else _OPEN
            yield Value(sequence, None, part, time_ns, "verdict", 1.0, named)
        limit = limits.get((sequence, part), {})
        totals = (
            sum(time_s for time_s, _ in limit.values()),
            sum(lost for name, (_, lost) in limit.items() if name != _WAITING),
        )
        for place, metric in enumerate(("limited_time_share", "lost_share")):
            if totals[place] > 0:
                for name in factors:
                    share = limit.get(name, (0.0, 0.0))[place] / totals[place]
                    yield Value(sequence, None, part, time_ns, metric, share, name)


def _limits(row: Record) -> dict[str, tuple[float, float]]:
    """Seconds and lost bytes by factor; nothing if they are not known, or make no sense."""
    try:
        content = record(json.loads(text(row.get("limits")) or "{}"))
    except (ValueError, RecursionError):
        return {}
    found = {}
    for factor, numbers in content.items():
        if not isinstance(numbers, list) or len(numbers) != 2:
            continue
        time_s, lost_bytes = number(numbers[0]), number(numbers[1])
        if time_s is not None and time_s >= 0:
            found[one_line(factor)] = (time_s, max(0.0, lost_bytes or 0.0))
    return found


def _of_pair(pair: Record, measured: dict[tuple[int, str], Record]) -> Iterator[Value]:
    sequence = whole(pair.get("sequence"))
    if sequence is None:
        return
    index = one_line(text(pair.get("index")) or "none")
    for part in PARTS:
        transfer = record(pair.get(part))
        time_ns = whole(transfer.get("start_ns"))
        if time_ns is None:
            continue
        found = _of_programs(pair, transfer) | measured.get((sequence, part), {})
        for name in _UNITS:
            value = number(found.get(name))
            if value is not None:
                yield Value(sequence, index, part, time_ns, name, value)


def _of_programs(pair: Record, transfer: Record) -> Record:
    """What the sender's program and kernel say, without any capture."""
    kernel = record(transfer.get("tcp"))
    sent, again = number(kernel.get("segments_out")), number(kernel.get("retransmitted_segments"))
    return {
        "goodput_bps": transfer.get("goodput_bps"),
        "ping_mean_s": record(pair.get("rtt")).get("mean_s"),
        "kernel_min_rtt_s": kernel.get("min_rtt_s"),
        "kernel_retransmission_rate": again / sent if sent and again is not None else None,
    }


def _measured(folder: Path, notes: list[str]) -> dict[tuple[int, str], Record]:
    """What the packets say, by sequence and part. Without it there is less to publish, which is told."""
    content = read(folder, MEASURED)
    if content is None:
        notes.append(f"no {MEASURED}: loss, RTT, pauses and verdicts are there after `vmtrace report {folder}`")
        return {}
    try:
        import pyarrow as pa
        from pyarrow.parquet import read_table
    except ImportError as error:
        raise CloudWatchError(
            f"{folder / MEASURED} is read with pyarrow ({error}): {sys.executable} -m pip install pyarrow"
        ) from None
    try:
        rows: list[dict[str, Any]] = read_table(pa.BufferReader(content)).to_pylist()
    except (pa.ArrowException, ValueError, OSError) as error:
        raise CloudWatchError(
            f"{folder / MEASURED}: {one_line(error)}: remove it, and `vmtrace report` recreates it"
        ) from None
    return {
        (row["sequence"], row["role"]): row
        for row in rows
        if isinstance(row.get("sequence"), int) and isinstance(row.get("role"), str)
    }


def _numbers(row: Record) -> Record:
    return {name: row.get(name) for name in _OF_PACKETS if number(row.get(name)) is not None}
