"""What a run folder knows of each transfer, as values for custom metrics: read from `pairs.jsonl`, and what the packets
say from `analysis/transfers.parquet`, which `vmtrace report` leaves there.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloudwatch.errors import CloudWatchError
from cloudwatch.files import read
from cloudwatch.records import Record, number, one_line, record, text, whole
from cloudwatch.run_facts import pairs

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
}
"""By the names that the run's report has, with CloudWatch's units: it has none for shares of 1."""
_OF_PACKETS = tuple(name for name in _UNITS if name not in {"goodput_bps", "ping_mean_s"} and "kernel" not in name)


@dataclass(frozen=True, slots=True)
class Value:
    """One number of one transfer."""

    sequence: int
    index: str
    part: str
    time_ns: int
    """When the transfer began."""
    metric: str
    value: float

    @property
    def unit(self) -> str:
        """As CloudWatch spells it."""
        return _UNITS[self.metric]

    @property
    def identity(self) -> str:
        """What makes it the same value when the run is published again."""
        return f"{self.sequence} {self.part} {self.metric}"


def values_of(folder: Path, notes: list[str]) -> list[Value]:
    """All values of a run's complete pairs, in order."""
    measured = _measured(folder, notes)
    return [value for pair in pairs(folder) if pair.get("status") == "complete" for value in _of_pair(pair, measured)]


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
        notes.append(f"no {MEASURED}: loss, RTT and spacing of the packets are there after `vmtrace report {folder}`")
        return {}
    try:
        import pyarrow as pa
        from pyarrow.parquet import read_table
    except ImportError as error:
        raise CloudWatchError(f"{folder / MEASURED} is read with pyarrow ({error}): pip install pyarrow") from None
    try:
        rows: list[dict[str, Any]] = read_table(pa.BufferReader(content)).to_pylist()
    except (pa.ArrowException, ValueError, OSError) as error:
        raise CloudWatchError(
            f"{folder / MEASURED}: {one_line(error)}: remove it, and `vmtrace report` makes it anew"
        ) from None
    return {
        (row["sequence"], row["role"]): {name: row.get(name) for name in _OF_PACKETS if _finite(row.get(name))}
        for row in rows
        if isinstance(row.get("sequence"), int) and isinstance(row.get("role"), str)
    }


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
