"""All tables of a queue run in one place, so that terminal, page, CSV and JSON have the same rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from vmtrace.analyze.findings.joined import JoinedRow, joined
from vmtrace.analyze.reports.queues.duplicates import duplicate_row
from vmtrace.analyze.reports.queues.fates import fates_of
from vmtrace.analyze.reports.queues.latency import latency_rows, lateness_rows
from vmtrace.analyze.reports.queues.limits import Evidence, LimitRow, limit_rows
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.ordering import order_rows
from vmtrace.analyze.reports.queues.over_time import period_rows
from vmtrace.analyze.reports.queues.rates import call_rows, process_rows, rate_rows
from vmtrace.analyze.reports.queues.records import QueueRun
from vmtrace.analyze.reports.queues.time_parts import time_parts_of
from vmtrace.analyze.reports.queues.wire import Wire
from vmtrace.analyze.tables.schema.typed import as_record

Record = dict[str, Any]
T = TypeVar("T")


def _rows_of_run(rows: Callable[[QueueRun], Iterable[T]]) -> cached_property[list[T]]:
    """A table of a report that is made from its run."""
    return cached_property(lambda report: list(rows(report.run)))


def _rows_of_messages(rows: Callable[[Messages], Iterable[T]]) -> cached_property[list[T]]:
    """A table of a report that is made from its messages."""
    return _of_messages(lambda messages: list(rows(messages)))


def _of_messages(make: Callable[[Messages], T]) -> cached_property[T]:
    """What of a report is made from its messages."""
    return cached_property(lambda report: make(report.messages))


@dataclass
class Report:
    """One run with its tables, each made when it is first asked for."""

    run: QueueRun
    wire: Wire
    label: str = ""
    """Short and its own among the runs shown together."""

    @property
    def name(self) -> str:
        """Of the run."""
        return self.run.name

    @cached_property
    def messages(self) -> Messages:
        """Each message."""
        return Messages(self.run)

    fates = _of_messages(fates_of)  # what became of them
    rates = _rows_of_run(rate_rows)  # in and out
    latency = _rows_of_messages(latency_rows)  # send to receive
    time_parts = _of_messages(time_parts_of)  # where the time of its messages goes
    lateness = _rows_of_messages(lateness_rows)  # of send calls
    calls = _rows_of_run(call_rows)  # times and troubles
    processes = _rows_of_run(process_rows)  # memory and processor
    orders = _rows_of_messages(order_rows)  # of the run first
    duplicates = _of_messages(duplicate_row)  # by cause
    periods = _rows_of_messages(period_rows)  # along the run

    @cached_property
    def findings(self) -> list[JoinedRow]:
        """What held the calls back, by the packets."""
        return joined(self.wire.said, "capture")

    @cached_property
    def limits(self) -> list[LimitRow]:
        """A sentence for each stage."""
        return list(limit_rows(self.run, Evidence(self.rates, self.calls, self.processes, self.lateness)))

    @cached_property
    def wire_per_message(self) -> tuple[float | None, float | None]:
        """Bytes and packets of all stages, for each message that the service took; packets know no window."""
        if self.run.window:
            return None, None
        return self.wire.per_message(int(self.messages.taken.sum()))

    @property
    def foreign(self) -> int:
        """Deliveries of messages that are not of this run."""
        return sum(row.foreign or 0 for row in self.calls)


def reports_of(runs: Sequence[tuple[QueueRun, Wire]]) -> list[Report]:
    """Runs with labels: their places (location, region) where these differ, else their names if short, else numbers."""
    places = ["/".join(filter(None, (run.location, run.region))) for run, _ in runs]
    names = [run.name for run, _ in runs]
    for labels in (places, names):
        if len(set(labels)) == len(runs) and all(0 < len(label) <= _SHORT for label in labels) and len(runs) > 1:
            return [Report(run, wire, label) for (run, wire), label in zip(runs, labels, strict=True)]
    if len(runs) == 1:
        return [Report(*runs[0], label=names[0])]
    return [Report(run, wire, f"#{number}") for number, (run, wire) in enumerate(runs, 1)]


_SHORT = 24


_TABLES: dict[str, Callable[[Report], Iterable[object]]] = {
    "rates": lambda report: report.rates,
    "latency": lambda report: report.latency,
    "lateness": lambda report: report.lateness,
    "calls": lambda report: report.calls,
    "order_by_stage": lambda report: report.orders,
    "wire_by_role": lambda report: report.wire.rows,
    "call_parts": lambda report: report.wire.call_parts,
    "processes": lambda report: report.processes,
    "findings": lambda report: report.findings,
    "limits": lambda report: report.limits,
    "over_time": lambda report: report.periods,
}


def tables(report: Report) -> dict[str, list[Record]]:
    """Every table as records, nested as in JSON."""
    return {name: [as_record(row) for row in rows(report)] for name, rows in _TABLES.items()}
