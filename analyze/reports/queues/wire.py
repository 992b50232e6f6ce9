"""What messages cost on the wire: bytes and packets of the captures, over the messages that were moved while they ran.

A connection belongs to the process that opened it, by the log; so each operation has its share. In flow and put stages
the messages are those sent, in take stages those received, within the time of the capture.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vmtrace.analyze.findings import joined, overhead
from vmtrace.analyze.findings.joined import OfCapture
from vmtrace.analyze.findings.overhead import Overhead
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.read.records.fields import endpoint
from vmtrace.analyze.read.records.run_folder import inside
from vmtrace.analyze.reports.queues import call_parts
from vmtrace.analyze.reports.queues.call_parts import CallPartsRow, Exchanged
from vmtrace.analyze.reports.queues.calls import RECEIVE, SEND
from vmtrace.analyze.reports.queues.rates import logs_of
from vmtrace.analyze.reports.queues.records import TAKE, QueueRun, Stage, StageEnd
from vmtrace.analyze.trace import Options, TraceError, read

Progress = Callable[[int], object]
_OWN_COLUMNS = (
    "client",
    "handshake_syn_ack_retransmissions",
    "tls_handshake_s",
    "client_to_server_packets",
    "server_to_client_packets",
)
_COLUMNS = (*_OWN_COLUMNS, *overhead.COLUMNS, *call_parts.COLUMNS)
_COSTS_END = len(_OWN_COLUMNS) + len(overhead.COLUMNS)
OTHER = "other"


@dataclass
class Carried:
    """Connections summed up."""

    total: Overhead = field(default_factory=Overhead)
    packets: int = 0
    opened: int = 0
    tls_handshakes_s: list[float] = field(default_factory=list)
    exchanged: Exchanged = field(default_factory=Exchanged)

    def add(self, row: tuple[Any, ...]) -> None:
        """A connection."""
        _, syn_acks, handshake_s, up, down, *cost = row[:_COSTS_END]
        self.exchanged.add(row[_COSTS_END:])
        self.total.add(tuple(cost))
        self.packets += (up or 0) + (down or 0)
        self.opened += syn_acks is not None
        if handshake_s is not None:
            self.tls_handshakes_s.append(handshake_s)


@dataclass(frozen=True, slots=True)
class WireRow:
    """Of one stage in one session, by the role of the process (`all` for all of them)."""

    stage: int
    session: int
    role: str
    messages: int
    connections: int
    opened: int
    bytes: int
    packets: int
    bytes_per_message: float | None
    packets_per_message: float | None
    parts: dict[str, int]
    """The byte ledger."""
    tls_connections: int
    tls_resumed: int
    tls_handshake_median_s: float | None


@dataclass(frozen=True, slots=True)
class Wire:
    """Of a run: its rows, and what could not be read."""

    rows: tuple[WireRow, ...]
    problems: tuple[str, ...]
    dropped: int
    """Packets that captures missed."""
    incomplete: bool
    """Some stage has no complete capture: there are no sums of the run."""
    said: tuple[OfCapture, ...] = ()
    """What each complete capture says."""
    call_parts: tuple[CallPartsRow, ...] = ()

    def per_message(self, messages: int) -> tuple[float | None, float | None]:
        """Bytes and packets of all stages over the messages that were sent; None where a capture is missing."""
        whole = [row for row in self.rows if row.role == "all"]
        if self.incomplete or not messages or not whole:
            return None, None
        return sum(row.bytes for row in whole) / messages, sum(row.packets for row in whole) / messages


def captures_of(run: QueueRun) -> list[tuple[StageEnd, Path]]:
    """The captures that `measure` reads."""
    found = ((end, inside(run.folder, end.capture_file)) for end in run.ends if end.capture_file)
    return [(end, path) for end, path in found if path is not None]


def measure(run: QueueRun, progress: Progress | None = None) -> Wire:
    """Read all captures of a run. What cannot be read is reported, and its stage is without a row."""
    rows: list[WireRow] = []
    problems: list[str] = []
    said: list[OfCapture] = []
    parts: list[CallPartsRow] = []
    whole, done_bytes = 0, 0
    for end, path in captures_of(run):
        stage = run.stage(end.stage)
        if stage is None:
            continue

        def passed_on(consumed_bytes: int, before: int = done_bytes) -> object:
            return progress(before + consumed_bytes) if progress is not None else None

        try:
            trace = read(path, options=Options(grouping=Grouping.SEPARATE), progress=passed_on)
        except (OSError, TraceError) as error:
            problems.append(str(error))
            continue
        done_bytes += path.stat().st_size
        if trace.interrupted:
            raise KeyboardInterrupt
        problems += [str(error) for error in trace.errors]
        packets = trace.header()["inputs"][0]["packets"]
        if end.capture_written is not None and packets < end.capture_written:
            problems.append(f"{path.name}: incomplete ({packets:,} of {end.capture_written:,} packets): left out")
            continue
        carried = _carried(run, stage, end, trace.true_values(_COLUMNS))
        rows += _rows(run, stage, end, carried)
        if not end.capture_dropped:
            parts += _call_parts(run, stage, end, carried)
        said += joined.of_captures(trace.findings, trace.true_values(joined.COLUMNS), [path.name])
        whole += _covers(end) and not end.capture_dropped
    dropped = sum(end.capture_dropped or 0 for end in run.ends)
    return Wire(tuple(rows), tuple(problems), dropped, whole < len(run.ends) or not run.ends, tuple(said), tuple(parts))


def _covers(end: StageEnd) -> bool:
    """Whether the capture lasted until the stage's end; stopping it waits for the last packets."""
    if None in {end.capture_end_ns, end.capture_start_ns, end.begin_ns, end.end_ns}:
        return False
    assert end.capture_end_ns is not None
    assert end.end_ns is not None
    assert end.capture_start_ns is not None
    assert end.begin_ns is not None
    return end.capture_start_ns <= end.begin_ns and end.end_ns - end.capture_end_ns < _ENDS_WITHIN_NS


_ENDS_WITHIN_NS = 2_000_000_000


def _call_parts(run: QueueRun, stage: Stage, end: StageEnd, carried: dict[str, Carried]) -> Iterator[CallPartsRow]:
    logs = [log for log in logs_of(run, stage) if log.session == end.session]
    for role, one in carried.items():
        place = (end.stage, end.session, role)
        row = call_parts.call_parts(place, one.exchanged, logs, end.capture_start_ns, end.capture_end_ns)
        if row is not None:
            yield row


def _carried(run: QueueRun, stage: Stage, end: StageEnd, columns: Any) -> dict[str, Carried]:
    """Connections to the service by the role of the process that opened them, and all of them."""
    logs = [log for log in logs_of(run, stage) if log.session == end.session]
    roles = {_end(local): log.role for log in logs for local, _ in log.opened}
    servers = {_end(peer) for log in logs for _, peer in log.opened}
    carried: dict[str, Carried] = {"all": Carried()}
    server_at = _COLUMNS.index("server")
    for row in zip(*columns, strict=True):
        if _end(row[server_at]) not in servers:
            continue
        carried["all"].add(row)
        carried.setdefault(roles.get(_end(row[0]), OTHER), Carried()).add(row)
    return carried


def _rows(run: QueueRun, stage: Stage, end: StageEnd, carried: dict[str, Carried]) -> Iterator[WireRow]:
    messages = _moved(run, stage, end)
    for role, one in carried.items():
        if one.total.connections:
            yield _row(stage, end, role, messages, one)


def _row(stage: Stage, end: StageEnd, role: str, messages: int, one: Carried) -> WireRow:
    size = one.total.wire_bytes
    return WireRow(
        stage=stage.number,
        session=end.session,
        role=role,
        messages=messages,
        connections=one.total.connections,
        opened=one.opened,
        bytes=size,
        packets=one.packets,
        bytes_per_message=size / messages if messages else None,
        packets_per_message=one.packets / messages if messages else None,
        parts=dict(one.total.parts),
        tls_connections=one.total.tls_connections,
        tls_resumed=one.total.tls_resumed,
        tls_handshake_median_s=float(np.median(one.tls_handshakes_s)) if one.tls_handshakes_s else None,
    )


def _moved(run: QueueRun, stage: Stage, end: StageEnd) -> int:
    """Messages whose call was over while the capture ran."""
    operation = RECEIVE if stage.kind == TAKE else SEND
    count = 0
    for log in logs_of(run, stage):
        if log.session == end.session:
            calls = log.calls[operation]
            ends_ns = np.array(calls.end_ns, np.int64)
            within = np.ones(len(ends_ns), np.bool_)
            if end.capture_start_ns is not None and end.capture_end_ns is not None:
                within = (ends_ns >= end.capture_start_ns) & (ends_ns <= end.capture_end_ns)
            count += int(np.array(calls.messages, np.int64)[within].sum())
    return count


def _end(text: object) -> tuple[str, int] | None:
    address, _, port = str(text).rpartition(":")
    return endpoint(address, port)
