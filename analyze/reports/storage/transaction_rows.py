"""Each transaction of a run as one row: what tables and figures over time are drawn from."""

from dataclasses import dataclass

from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.over_time import smoothed_bps
from vmtrace.analyze.reports.storage.throughput import throughput_bps


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """One transaction."""

    transaction: int
    workload: str
    direction: str
    repeat: int
    start_ns: int
    status: str
    objects: int
    moved_bytes: int
    throughput_bps: float | None
    smoothed_bps: float | None
    """The line through the throughput of its workload and direction, at this transaction (`over_time`)."""
    connections: int | None
    """None without a capture."""
    wire_bytes: int | None
    """Of the connections to the service."""
    application_bytes: int | None
    packets: int | None
    dropped: int | None
    lookups: int | None
    other_connections: int | None


def transaction_rows(run: MeasuredRun) -> list[TransactionRow]:
    """In the order of the run."""
    smoothed = smoothed_bps(run)
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
