"""Each transaction of a run as one row: what tables and figures over time are drawn from."""

from dataclasses import dataclass

from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.over_time import smoothed_line_bps
from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.reports.storage.throughput import throughput_bps
from vmtrace.analyze.tables.schema.typed import Count, Positive


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """One transaction."""

    transaction: Count
    workload: str
    direction: Direction
    repeat: Count
    start_ns: int
    status: str
    objects: Count
    moved_bytes: Count
    throughput_bps: Positive | None
    smoothed_bps: Positive | None
    """Running median of its workload and direction; null near the ends and where there are few."""
    connections: Count | None
    """None without a capture."""
    wire_bytes: Count | None
    """Of the connections to the service."""
    application_bytes: Count | None
    packets: Count | None
    dropped: Count | None
    lookups: Count | None
    other_connections: Count | None
    """In the capture, not to the service."""


def transaction_rows(run: MeasuredRun) -> list[TransactionRow]:
    """In the order of the run."""
    smoothed = smoothed_line_bps(run)
    return [_row(one, smoothed[one.transaction.number]) for one in run.transactions]


def _row(one: MeasuredTransaction, smoothed: float | None) -> TransactionRow:
    transaction, captured = one.transaction, one.captured
    overhead = one.overhead
    return TransactionRow(
        transaction=transaction.number,
        workload=transaction.workload,
        direction=transaction.direction,
        repeat=transaction.repeat,
        start_ns=transaction.start_ns,
        status=transaction.status,
        objects=len(one.objects),
        moved_bytes=sum(stored.moved_bytes for stored in one.objects),
        throughput_bps=throughput_bps(one),
        smoothed_bps=smoothed,
        connections=len(one.connections) if captured else None,
        wire_bytes=overhead.wire_bytes if captured else None,
        application_bytes=overhead.application_bytes if captured else None,
        packets=one.packets,
        dropped=transaction.capture_dropped,
        lookups=len(one.lookups) if captured else None,
        other_connections=one.other_connections if captured else None,
    )
