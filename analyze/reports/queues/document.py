"""The JSON document `vmtrace.queue_report/1` (docs/queue.md), and the same tables as CSV files.

Its parts are the rows that are measured: what they declare is its schema, too.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypedDict

from vmtrace.analyze.findings.joined import JoinedRow
from vmtrace.analyze.read.records.service_run import RunHead
from vmtrace.analyze.reports.queues.call_parts import CallPartsRow
from vmtrace.analyze.reports.queues.duplicates import DuplicateRow
from vmtrace.analyze.reports.queues.fates import Fates
from vmtrace.analyze.reports.queues.latency import LatencyRow, LatenessRow, clock_error_s
from vmtrace.analyze.reports.queues.limits import LimitRow
from vmtrace.analyze.reports.queues.ordering import OrderRow
from vmtrace.analyze.reports.queues.over_time import PeriodRow
from vmtrace.analyze.reports.queues.rates import CallRow, ProcessRow, RateRow
from vmtrace.analyze.reports.queues.records import Stage
from vmtrace.analyze.reports.queues.tables import Record, Report, tables
from vmtrace.analyze.reports.queues.wire import WireRow
from vmtrace.analyze.tables.csv_files import with_names
from vmtrace.analyze.tables.provenance import of_report
from vmtrace.analyze.tables.schema.typed import record_of
from vmtrace.analyze.trace import version

SCHEMA = "vmtrace.queue_report/1"


class PerMessage(TypedDict):
    """Of all stages, for each message that the service took."""

    bytes_per_message: float | None
    packets_per_message: float | None


class Run(RunHead):
    """A run, and everything measured of it."""

    provider: str
    region: str | None
    location: str | None
    endpoint: str | None
    fifo: bool
    sdk: str | None
    plan: str | None
    sessions: int
    stages: list[Stage]
    left_behind: int
    dropped_packets: int
    clock_error_s: float | None
    problems: list[str]
    messages: Fates
    lost: int | None
    foreign: int
    order: OrderRow | None
    duplicates: DuplicateRow
    wire: PerMessage
    charges: dict[str, Any] | None
    used: dict[str, int]
    rates: list[RateRow]
    latency: list[LatencyRow]
    lateness: list[LatenessRow]
    calls: list[CallRow]
    order_by_stage: list[OrderRow]
    wire_by_role: list[WireRow]
    call_parts: list[CallPartsRow]
    processes: list[ProcessRow]
    findings: Annotated[list[JoinedRow], "What held the transfers back, by their packets"]
    limits: list[LimitRow]
    over_time: list[PeriodRow]


class Document(TypedDict):
    """What `vmtrace queue report --json` writes. Seconds are _s, instants _ns (Unix nanoseconds), sizes _bytes, rates
    per second, shares 0..1. A number that could not be measured is null. Keys are only added within version 1.
    """

    schema: Literal["vmtrace.queue_report/1"]
    vmtrace: str
    runs: list[Run]


def document(reports: Sequence[Report]) -> Record:
    """Everything measured of these runs."""
    return {"schema": SCHEMA, "vmtrace": version(), "runs": [_run(report) for report in reports]}


def provenance(reports: Sequence[Report]) -> Record:
    """Where the results come from."""
    runs = [{"path": str(one.run.folder), "name": one.name, "id": one.run.id} for one in reports]
    return of_report(SCHEMA, runs=runs)


def csv_tables(reports: Sequence[Report]) -> dict[str, list[Record]]:
    """Every table as flat rows, with the run in the first column."""
    return with_names("run", ((one.name, _tables(one)) for one in reports))


def _tables(report: Report) -> dict[str, list[Record]]:
    named = {**tables(report), "messages": [asdict(report.fates)], "duplicates": [asdict(report.duplicates)]}
    return {name: [_plain(record) for record in records] for name, records in named.items()}


def _plain(record: Record) -> Record:
    """Several numbers stand in one cell."""
    name = "per_thread_messages_per_s"
    return {**record, name: " ".join(f"{one:.6g}" for one in record[name])} if name in record else record


def _run(report: Report) -> Record:
    run, size, packets = report.run, *report.wire_per_message
    return record_of(
        Run,
        run,
        path=str(run.folder),
        name=report.name,
        dropped_packets=report.wire.dropped,
        clock_error_s=clock_error_s(report.messages),
        problems=[*run.problems, *report.wire.problems],
        messages=report.fates,
        lost=report.fates.lost,
        foreign=report.foreign,
        order=report.orders[0] if report.orders else None,
        duplicates=report.duplicates,
        wire={"bytes_per_message": size, "packets_per_message": packets},
        charges=None if run.charges is None else {"currency": run.currency, "prices": run.prices, **run.charges},
        **tables(report),
    )
