"""The captures of a storage run: connections and name lookups of each transaction, beside what the log says of it.

Captures are read some hundred in one go: their results are in memory together until they are shared out.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vmtrace.analyze.findings import joined, overhead
from vmtrace.analyze.findings.joined import OfCapture
from vmtrace.analyze.findings.overhead import Overhead
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.read.records.fields import endpoint
from vmtrace.analyze.reports.storage.records import Endpoint, StorageRun, StoredObject, Transaction
from vmtrace.analyze.reports.storage.run_folder import capture_of
from vmtrace.analyze.trace import Options, Trace, TraceError, read
from vmtrace.formats.quantities import plural

Progress = Callable[[int], object]
"""Called with the bytes of captures that are done."""

_READ_AT_ONCE = 200

_OWN_COLUMNS = (
    "input",
    "client",
    "start_ns",
    "duration_s",
    "handshake_rtt_s",
    "tls_handshake_s",
    "tls_record_overhead_bytes",
    "verdict_factor",
    "verdict_share",
    "verdict_confidence",
    "verdict_sentence",
    "handshake_syn_ack_retransmissions",
)
CONNECTION_COLUMNS = (*_OWN_COLUMNS, *overhead.COLUMNS)
"""The columns of the connection table that `connection_of` wants, in this order."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A TCP connection as the capture shows it."""

    client: Endpoint | None
    server: Endpoint | None
    start_ns: int
    duration_s: float
    opened: bool
    """It began within the capture: the end of what was opened before has no SYN and no SYN-ACK."""
    syn_retransmissions: int
    handshake_rtt_s: float | None
    tls: bool
    tls_resumed: bool | None
    tls_handshake_s: float | None
    tls_records_measured: bool
    """All headers of TLS records are in the capture; else what they are is counted as application data."""
    uploaded_bytes: int
    downloaded_bytes: int
    verdict_factor: str | None
    verdict_share: float | None
    verdict_confidence: float | None
    verdict_sentence: str | None
    overhead_row: tuple[object, ...]

    @property
    def end_ns(self) -> int:
        """Of its last packet."""
        return self.start_ns + round(self.duration_s * 1e9)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A name lookup with its answer; `name` is None if it was cut off, `asked_ns` if the question was not captured."""

    name: str | None
    asked_ns: int | None
    answered_ns: int


@dataclass(frozen=True)
class MeasuredTransaction:
    """A transaction, its objects, and what its capture shows of them; `packets` is None without a capture."""

    transaction: Transaction
    objects: tuple[StoredObject, ...]
    connections: tuple[Connection, ...]
    """To the service, by start: those that it opened or used."""
    remainders: tuple[Connection, ...]
    """The ends of connections that served earlier transactions: only their bytes belong to this one."""
    other_connections: int
    """Of the capture that went elsewhere: to a resolver, or of somebody else."""
    lookups: tuple[Lookup, ...]
    packets: int | None
    wire_bytes: int | None

    @property
    def captured(self) -> bool:
        """Its packets are known."""
        return self.packets is not None

    @property
    def whole(self) -> bool:
        """All of its objects were transferred, and are in the log."""
        complete = self.transaction.status == "complete"
        return complete and bool(self.objects) and not self.unlogged_objects

    @property
    def unlogged_objects(self) -> int:
        """Objects that were transferred and are not in the log, of which lines were lost."""
        return max(self.transaction.files - len(self.objects), 0) if self.transaction.status == "complete" else 0

    @cached_property
    def overhead(self) -> Overhead:
        """All bytes to and from the service summed up: once for all tables."""
        total = Overhead()
        for connection in (*self.connections, *self.remainders):
            total.add(connection.overhead_row)
        return total


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run with what its captures say."""

    run: StorageRun
    transactions: tuple[MeasuredTransaction, ...]
    problems: tuple[str, ...]
    said: tuple[OfCapture, ...] = ()
    """What each capture says, of the transactions whose packets count."""

    @property
    def name(self) -> str:
        """Of the run."""
        return self.run.name

    def kinds(self) -> dict[tuple[str, str], list[MeasuredTransaction]]:
        """Transactions by workload and direction, in the order of the plan."""
        found: dict[tuple[str, str], list[MeasuredTransaction]] = defaultdict(list)
        for one in self.transactions:
            found[one.transaction.workload, one.transaction.direction].append(one)
        return found


def captures_of(run: StorageRun) -> list[Path]:
    """The captures that `measure_run` reads."""
    return [path for one in run.transactions if (path := capture_of(run, one)) is not None]


def measure_run(run: StorageRun, progress: Progress | None = None) -> MeasuredRun:
    """Read all captures of a run. What cannot be read is told of, and its transaction is without packets."""
    places = {one.number: path for one in run.transactions if (path := capture_of(run, one)) is not None}
    objects: dict[int, list[StoredObject]] = defaultdict(list)
    for one in run.objects:
        objects[one.transaction].append(one)
    problems, ports = list(run.problems), service_ports(run)
    contents = _contents(places, problems, progress)
    measured = [_measured(one, tuple(objects[one.number]), contents.get(one.number), ports) for one in run.transactions]
    problems += _incomplete(run, measured, contents)
    known = {one.number for one in run.transactions}
    lost = sum(len(found) for number, found in objects.items() if number not in known)
    if lost:
        problems.append(f"{plural(lost, 'object')} of a transaction that was not finished: left out")
    counted = {one.transaction.number for one in measured if one.captured}
    said = (content.said for number, content in contents.items() if number in counted)
    return MeasuredRun(run, tuple(measured), tuple(problems), tuple(said))


def _incomplete(
    run: StorageRun, measured: Sequence[MeasuredTransaction], contents: Mapping[int, "_Content"]
) -> Iterator[str]:
    """What log and captures should have, and do not."""
    cut = [one for one in run.transactions if one.number in contents and _is_cut(one, contents[one.number])]
    if cut:
        yield (
            f"incomplete captures: {plural(len(cut), 'transaction')}, the first with "
            f"{contents[cut[0].number].packets:,} of {plural(cut[0].capture_written or 0, 'recorded packet')}: left out"
        )
    gone = {one.number for one in cut}
    elsewhere = sum(
        not one.captured and one.transaction.number in contents and one.transaction.number not in gone
        for one in measured
    )
    if elsewhere:
        yield (
            f"the captures of {plural(elsewhere, 'transaction')} hold none of the connections that the log names: "
            f"{run.interface or 'the interface'} is not on the way to the service, or the filter leaves it out"
        )
    unlogged = sum(one.unlogged_objects for one in measured)
    if unlogged:
        yield f"objects.jsonl lacks {plural(unlogged, 'object')} of transactions that are complete"


def _is_cut(one: Transaction, content: "_Content") -> bool:
    """Whether the file has fewer packets than were written into it: whatever is counted in it is too little."""
    return one.capture_written is not None and content.packets < one.capture_written


def service_ports(run: StorageRun) -> frozenset[int]:
    """The ports that the service was seen at; 443 if none is told."""
    ports = {use.peer[1] for one in run.objects for use in one.exchange.connections if use.peer is not None}
    for text in run.front_ends:
        address, _, port = text.rpartition(":")
        found = endpoint(address, port)
        ports |= {found[1]} if found else set()
    return frozenset(ports or {443})


@dataclass(frozen=True, slots=True)
class _Content:
    connections: list[Connection]
    lookups: list[Lookup]
    packets: int
    wire_bytes: int
    said: OfCapture


def _contents(places: dict[int, Path], problems: list[str], progress: Progress | None) -> dict[int, _Content]:
    contents: dict[int, _Content] = {}
    numbers, done_bytes = list(places), 0
    for first in range(0, len(numbers), _READ_AT_ONCE):
        part = numbers[first : first + _READ_AT_ONCE]
        before = done_bytes

        def passed_on(consumed_bytes: int, before: int = before) -> object:
            return progress(before + consumed_bytes) if progress is not None else None

        paths = [places[number] for number in part]
        done_bytes += sum(path.stat().st_size for path in paths)
        try:
            trace = read(*paths, options=Options(grouping=Grouping.SEPARATE), progress=passed_on)
        except (OSError, TraceError) as error:
            problems += [str(error), *(str(other) for other in getattr(error, "others", ()))]
            continue
        if trace.interrupted:
            raise KeyboardInterrupt
        problems += [str(error) for error in trace.errors]
        contents |= _by_transaction(trace, part, [path.name for path in paths])
    return contents


def _by_transaction(trace: Trace, numbers: Sequence[int], files: Sequence[str]) -> dict[int, _Content]:
    said = joined.of_captures(trace.findings, trace.true_values(joined.COLUMNS), files)
    found = {
        number: _Content([], [], header["packets"], header["wire_bytes"], one)
        for number, header, one in zip(numbers, trace.header()["inputs"], said, strict=True)
        if header["format"] is not None
    }
    for row in zip(*trace.true_values(CONNECTION_COLUMNS), strict=True):
        number = numbers[row[0]]
        if number in found:
            found[number].connections.append(connection_of(row))
    lookups = trace.lookups
    seen: set[tuple[int, str | None, int | None, int]] = set()
    for row in zip(*(lookups.values(name) for name in ("input", "name", "asked_ns", "answered_ns")), strict=True):
        # One row for each address of an answer.
        if row not in seen and numbers[row[0]] in found:
            seen.add(row)
            found[numbers[row[0]]].lookups.append(Lookup(*row[1:]))
    return found


def connection_of(row: tuple[Any, ...]) -> Connection:
    """A connection out of a row of `CONNECTION_COLUMNS`."""
    cost = row[len(_OWN_COLUMNS) :]
    _, syn_retransmissions, version, resumed, server, uploaded, downloaded = cost[len(overhead.PARTS) :]
    return Connection(
        client=_endpoint(row[1]),
        server=_endpoint(server),
        start_ns=row[2],
        duration_s=row[3] or 0.0,
        opened=row[11] is not None,
        syn_retransmissions=syn_retransmissions or 0,
        handshake_rtt_s=row[4],
        tls=version is not None,
        tls_resumed=resumed,
        tls_handshake_s=row[5],
        tls_records_measured=version is None or row[6] is not None,
        uploaded_bytes=uploaded or 0,
        downloaded_bytes=downloaded or 0,
        verdict_factor=row[7],
        verdict_share=row[8],
        verdict_confidence=row[9],
        verdict_sentence=row[10],
        overhead_row=cost,
    )


def _endpoint(text: str) -> Endpoint | None:
    address, _, port = text.rpartition(":")
    return endpoint(address, port)


def _measured(
    transaction: Transaction, objects: tuple[StoredObject, ...], content: _Content | None, ports: frozenset[int]
) -> MeasuredTransaction:
    if content is None or _is_cut(transaction, content):
        return MeasuredTransaction(transaction, objects, (), (), 0, (), None, None)
    own = [one for one in content.connections if one.server is not None and one.server[1] in ports]
    own.sort(key=lambda one: one.start_ns)
    exchanges = [transaction.login, *(stored.exchange for stored in objects)]
    logged = {(use.local, use.peer) for exchange in exchanges if exchange is not None for use in exchange.connections}
    if logged and logged.isdisjoint((one.client, one.server) for one in own):
        # Recorded elsewhere: that nothing was opened, or sent, is not what such a capture tells.
        return MeasuredTransaction(transaction, objects, (), (), 0, (), None, None)

    def served(one: Connection) -> bool:
        return one.opened or (one.client, one.server) in logged

    return MeasuredTransaction(
        transaction,
        objects,
        tuple(one for one in own if served(one)),
        tuple(one for one in own if not served(one)),
        len(content.connections) - len(own),
        tuple(content.lookups),
        content.packets,
        content.wire_bytes,
    )
