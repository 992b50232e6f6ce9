"""A capture that was read: the object that the command and a notebook work with.

Reading happens once, for all connections. The packets of a connection are read on demand, in a further pass over the
files, because keeping them all would take as much memory as the capture.
"""

import errno
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from vmtrace.analyze import _engine
from vmtrace.analyze._engine import Columns, TraceError
from vmtrace.analyze.read.capture_files import captures_of
from vmtrace.analyze.read.grouping import group
from vmtrace.analyze.read.memory import half_bytes
from vmtrace.analyze.read.options import Options, check_kinds, check_values, secrets
from vmtrace.analyze.read.sources import Opened, Progress, Source, Spool, opened
from vmtrace.analyze.read.stores.remote import RemoteObject
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    import pyarrow

    from vmtrace.analyze.findings.facts import Facts
    from vmtrace.analyze.findings.finding import Finding
    from vmtrace.analyze.read.anonymize import Anonymizer
    from vmtrace.analyze.read.capture_version import Version
    from vmtrace.analyze.words.document import Record

__all__ = ["Options", "Trace", "TraceError", "read", "version"]


_DEFAULTS = Options()

_ALL_OF_A_DATAGRAM = 1 << 16

_RECORDS = 10_000
"""JSON records that are read at a time."""

MOST_INPUTS = 1 << 16
"""Packets carry the number of their input in two bytes."""


def version() -> str:
    """The version of vmtrace."""
    return _engine.VERSION


def connection_columns() -> Columns:
    """The connection table of no capture: the names and kinds of its columns, which are the same for every capture."""
    return _engine.analyze([]).connections()


def read(
    *sources: Source | Sequence[Source], options: Options = _DEFAULTS, progress: Progress | None = None
) -> "Trace":
    """Measure captures: files, folders of them, patterns, URLs, lists of these, open files.

    Raises `FileNotFoundError`, `PermissionError` and other `OSError`s, `TraceError` for what is not a capture,
    `ValueError` for a bad filter, for too many captures and for options out of range, and `TypeError` for what is no
    source or no option. Ctrl-C stops the reading; what was measured until then is kept (`interrupted`).
    """
    check_kinds(options)
    captures = captures_of(sources)
    if len(captures) > MOST_INPUTS:
        raise ValueError(
            f"{len(captures):,} captures: at most {MOST_INPUTS:,} are read at once, join some with mergecap"
        )
    check_values(options)
    spool = Spool(progress)
    return Trace([opened(source, spool, keep=options.keep_input) for source in captures], options, progress, spool)


def compiler(expression: str | None) -> Callable[[int, int], bytes] | None:
    """Libpcap is loaded for a filter alone: its loading would take half of a small capture's time."""
    if expression is None:
        return None
    from vmtrace.analyze.read import filter as bpf

    return bpf.compiler(expression)


class Trace:
    """What was measured. The tables go into pyarrow, polars, pandas and DuckDB as they are."""

    def __init__(
        self,
        inputs: Sequence[Opened],
        options: Options,
        progress: Progress | None,
        spool: Spool,
        result: _engine.Analysis | None = None,
    ) -> None:
        self._inputs = list(inputs)
        self._options = options
        self._progress = progress
        self._spool = spool
        self._as_measured = self._states()
        self._versions = [_version(one) for one in self._inputs]
        self.index_problems: list[str] = []
        """Why an index of a capture was not used, one line each."""
        self._groups = group([one.data for one in self._inputs], options.grouping)
        self._anonymizer = _anonymizer() if options.anonymize else None
        known_by_bytes = _ALL_OF_A_DATAGRAM if options.datagrams else None
        if result is None:
            result = self._run(options.packets_of, interrupted=spool.interrupted, known_by_bytes=known_by_bytes)
        self._result = result
        self._detail = (options.packets_of, self._result)
        self._columns: Columns | None = None
        self._some_columns: dict[str, list[Any]] = {}
        self._header: Record | None = None

    @classmethod
    def of_stream(cls, result: _engine.Analysis, name: str, options: Options = _DEFAULTS) -> "Trace":
        """What an engine has measured that reads by itself (`vmtrace.analyze.reports.live`), of a stream."""
        return cls([Opened("-", name, None)], options, None, Spool(None), result)

    @property
    def interrupted(self) -> bool:
        """True if the reading was stopped before the end: the numbers then are about the part that was read."""
        return self._result.interrupted

    @property
    def exhausted(self) -> bool:
        """True if that was for want of memory (`Options.memory_bytes`)."""
        return self._result.exhausted

    @property
    def unanswered(self) -> int:
        """Attempts to open a connection, of SYNs without a reply, that are summed up instead of being connections."""
        return self._result.unanswered

    @property
    def paths(self) -> list[str]:
        """The inputs' names as results show them, in the order of the results."""
        names = [one.name for one in self._in_order]
        return [self._anonymizer.path(name) for name in names] if self._anonymizer else names

    @property
    def errors(self) -> list[Exception]:
        """What was wrong with inputs that could not be read, while others could."""
        return self._result.errors

    @property
    def files(self) -> list[str]:
        """The inputs that are files, by their true names."""
        return [one.file for one in self._inputs if one.file is not None]

    def file_of(self, number: int) -> Path | None:
        """The file behind an input of the results, by its true name; None for what is no file."""
        file = self._in_order[number].file
        return None if file is None else Path(file)

    @property
    def connections(self) -> "Columns | pyarrow.Table":
        """One row for each connection; columns are named by the JSON path joined with `_`."""
        columns = self._connection_columns()
        return columns if self._anonymizer is None else self._anonymizer.table(columns)

    @property
    def narrow(self) -> "pyarrow.Table":
        """One row for each connection: id, client, server, goodput_bps of the data's direction, rtt_min_s, cause,
        saves_s, outcome; then the metrics that `--fail-if` knows by short names."""
        from vmtrace.analyze.tables import summary

        self.load(summary.COLUMNS)
        ids = self.values("id")
        # The records of all connections at once would take many times as much memory as the table.
        some = (self.records(ids[first : first + _RECORDS]) for first in range(0, len(ids), _RECORDS))
        saves_s = {one["id"]: (one["verdict"] or {}).get("saves_s") for records in some for one in records}
        return summary.summary(self.values, saves_s)

    def connection_tables(self, rows: int) -> Iterator["pyarrow.Table"]:
        """The same in pieces of so many rows, one of no rows if there are no connections: of a million connections all
        columns take several times as much memory as what was measured."""
        import pyarrow

        for first in range(0, max(len(self), 1), rows):
            some = self._result.connections(rows=list(range(first, min(first + rows, len(self)))))
            yield pyarrow.table(some) if self._anonymizer is None else self._anonymizer.table(some)

    @property
    def lookups(self) -> Columns:
        """One row for each address that a name lookup (DNS) in the capture was answered with; never anonymised."""
        return self._result.lookups()

    @property
    def lookups_not_kept(self) -> int:
        """Answers beyond those that `lookups` has room for."""
        return self._result.lookups_not_kept

    @property
    def lookup_table(self) -> "pyarrow.Table":
        """One row for each name that was waited for, as in `lookups` of the JSON document."""
        from vmtrace.analyze.words.beyond_tcp import lookup_table

        return lookup_table(self.header())

    @property
    def flow_table(self) -> "pyarrow.Table":
        """One row for each flow of datagrams, as in `flows` of the JSON document."""
        from vmtrace.analyze.words.beyond_tcp import flow_table

        return flow_table(self.header())

    @property
    def echoes(self) -> Columns:
        """One row for each ICMP echo request in the capture, with its reply and round trip; never anonymised."""
        return self._result.echoes()

    @property
    def echoes_not_kept(self) -> int:
        """Requests beyond those that `echoes` has room for."""
        return self._result.echoes_not_kept

    @property
    def syns(self) -> Columns:
        """One row for each second of the capture, with its SYNs and their fate."""
        return self._result.syns()

    def datagrams(self, known_by_bytes: int | None = None) -> "tuple[list[bytes], int | None, int] | None":
        """The datagrams one by one (`_engine.pyi`), if `Options.datagrams` asked for them; None if not.

        With `known_by_bytes` the files are read once more, and each is known by so many bytes of its payload.
        """
        if known_by_bytes is None or not self._options.datagrams:
            return self._result.datagrams()
        return self._run((), known_by_bytes=known_by_bytes).datagrams()

    @property
    def quic_packets(self) -> list[tuple[int, list[bytes]]]:
        """Packets of QUIC that keys open, by flow, if `Options.datagrams` asked for them (`_engine.pyi`)."""
        return self._result.quic_packets()

    def packets(
        self, connection: SupportsIndex | Iterable[SupportsIndex], *, columns: Iterable[str] | None = None
    ) -> Columns:
        """One row for each packet of these connections, in time order; of the columns those named, or all.

        Reads the files once more, unless `load_packets` has. Raises `KeyError` for a connection or a column that there
        is not, and what `load_packets` raises.
        """
        wanted = _numbers(connection)
        self.load_packets(wanted)
        names = None if columns is None else [columns] if isinstance(columns, str) else list(columns)
        found = self._detail[1].packets(connections=self._but_not_all(wanted), names=names)
        there = set(found.names)
        for name in names or ():
            if name not in there:
                raise KeyError(name)
        return found

    def packet_tables(self, connections: Sequence[int], rows: int) -> Iterator["pyarrow.Table"]:
        """The same in pieces of so many rows, the last one of fewer, or of none: all columns together take four times
        as much memory as the packets themselves."""
        import pyarrow

        self.load_packets(connections)
        packets, some = self._detail[1].packets, self._but_not_all(connections)
        for first in count(0, rows):
            piece = pyarrow.table(packets(connections=some, places=(first, first + rows)))
            yield piece
            if piece.num_rows < rows:
                return

    def load_packets(self, connections: Iterable[int]) -> None:
        """Read the packets of these connections in one pass over the files, for `packets` of all or each of them.

        They take about 50 bytes each, until others are asked for. Raises `KeyError` for a connection that there is not,
        `ValueError` for what can be read only once, `OSError` if a file has changed since it was measured, and
        `KeyboardInterrupt` on Ctrl-C: a part of the packets is nothing.
        """
        wanted = tuple(connections)
        known = range(1, len(self) + 1)
        for number in wanted:
            if number not in known:
                raise KeyError(number)
        if set(wanted) <= set(self._detail[0]):
            return
        # Those of before would only stand in the way of the next ones.
        self.forget_packets()
        result = self._read_by_index(wanted) or self._read_again(wanted)
        if result.interrupted:
            raise KeyboardInterrupt
        self._detail = (wanted, result)

    def forget_packets(self) -> None:
        """Give up the packets that were read beside those of `Options.packets_of`."""
        self._detail = (self._options.packets_of, self._result)

    def _but_not_all(self, connections: Sequence[int]) -> Sequence[int] | None:
        """These connections; None if they are all whose packets are there."""
        return None if set(connections) == set(self._detail[0]) else connections

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._result)

    def load(self, columns: Iterable[str]) -> None:
        """Get these columns for `values` in one go, which is quicker than one by one."""
        names = list(columns)
        table = self._result.connections(names=names)
        there = set(table.names)
        for name in names:
            self._some_columns[name] = table.values(name) if name in there else [None] * len(self)

    def values(self, column: str) -> list[Any]:
        """One column of the connection table as a list (all `None` if this capture has no such column)."""
        if column not in self._some_columns:
            self.load([column])
        values = self._some_columns[column]
        if self._anonymizer and column in self._anonymizer.COLUMNS:
            return [self._anonymizer.value(column, value) for value in values]
        return values

    def true_values(self, columns: Iterable[str]) -> list[list[Any]]:
        """Columns as they were measured, for sums that name nobody, also where results are anonymised."""
        names = list(columns)
        self.load(names)
        return [self._some_columns[name] for name in names]

    def row(self, index: int) -> dict[str, Any]:
        """One row of the connection table."""
        row = self._result.connections(rows=[index]).row(0)
        return self._anonymizer.row(row) if self._anonymizer else row

    def named_row(self, index: int) -> dict[str, Any]:
        """The same, with the name that its server was looked up by where the connection itself shows none."""
        row = self.row(index)
        return row | {"server_name": self.server_name(row)}

    def server_name(self, row: "Record") -> str | None:
        """What the server of a row is called, as `words.server_names` has it for records."""
        return row.get("server_name") or self._looked_up.get(row["id"])

    @cached_property
    def _looked_up(self) -> dict[int, str]:
        lookups = self.header()["lookups"]
        return {number: lookups[place]["name"] for number, place in self._result.lookups_of_connections().items()}

    def largest(self, limit: int | None = None) -> list[int]:
        """The rows of the connection table, the one of most bytes on the wire first."""
        return self._result.largest(len(self) if limit is None else min(limit, len(self)))

    def header(self) -> "Record":
        """The JSON document without its connections."""
        if self._header is None:
            self._header = self._part(())
            del self._header["connections"]
        return self._header

    def records(self, connections: Iterable[int]) -> "list[Record]":
        """The JSON records of these connections, in the order asked for; `KeyError` for one that there is not."""
        wanted = list(connections)
        asked = sorted({number for number in wanted if number > 0})
        found = {one["id"]: one for one in self._part(asked)["connections"]} if asked else {}
        for number in wanted:
            if number not in found:
                raise KeyError(number)
        shown = self._anonymizer.connection if self._anonymizer else lambda record: record
        return [shown(found[number]) for number in wanted]

    @cached_property
    def findings(self) -> "Sequence[Finding]":
        """What the capture as a whole says: one ranked list, the costliest first (docs/findings.md)."""
        from vmtrace.analyze.findings.ranking import findings

        return findings(self.facts())

    def facts(self) -> "Facts":
        """What the rules of findings get."""
        from vmtrace.analyze.findings.facts import Facts
        from vmtrace.analyze.findings.selection import COLUMNS, chosen

        self.load(COLUMNS)
        ids = chosen([self._some_columns[name] for name in COLUMNS])
        return Facts.of_document({**self.header(), "connections": self.records(ids)})

    def shown_run(self, record: "Record") -> "Record":
        """What is known of a run folder, as results show it: without its place where they are anonymous."""
        return self._anonymizer.run(record) if self._anonymizer else record

    def json(self) -> "Record":
        """The whole JSON document `vmtrace.analysis/1`."""
        import json

        buffer = io.BytesIO()
        self.write_json(buffer.write)
        content: Record = json.loads(buffer.getvalue())
        return content

    def keep_until_exit(self) -> None:
        """Leave the results in memory for good: for a program that ends with them.

        What the kernel takes back all at once need not be given back connection by connection.
        """
        self._result.keep_until_exit()

    def json_lines(self) -> "Iterator[Record]":
        """What the JSON document lists, one by one: connections, flows, lookups and findings, each with `record`, which
        says what it is. Of connections some at a time are in memory."""
        ids = self.values("id")
        for first in range(0, len(ids), _RECORDS):
            yield from ({"record": "connection", **one} for one in self.records(ids[first : first + _RECORDS]))
        for kind, name in (("flow", "flows"), ("lookup", "lookups")):
            yield from ({"record": kind, **one} for one in self.header().get(name, ()))
        yield from ({"record": "finding", **one.as_record()} for one in self.findings)

    def write_json(self, write: Callable[[bytes], object]) -> None:
        """Write the JSON document by calling `write` with consecutive pieces of it."""
        from vmtrace.analyze.words.document import Appending, as_bytes

        found = {"findings": [one.as_record() for one in self.findings]}
        if self._anonymizer is None:
            appending = Appending(write)
            self._result.write_json(appending, vmtrace_version=version(), input_paths=self.paths)
            appending.finish(found)
            return
        content = self._part(None)
        content["connections"] = [self._anonymizer.connection(record) for record in content["connections"]]
        write(as_bytes({**content, **found}))

    def summary(self, *, limit: int = 20, width: int = 100) -> str:
        """The table that `vmtrace analyze` prints, with so many connections in so many columns of text."""
        for name, value in (("limit", limit), ("width", width)):
            if value < 1:
                raise ValueError(f"{name}: 1 or more, not {value:,}")
        from vmtrace.analyze.tables.human_table import summary_text

        return summary_text(self, limit=limit, width=width)

    def __repr__(self) -> str:
        return f"<vmtrace.Trace of {', '.join(map(repr, self.paths))}: {plural(len(self), 'connection')}>"

    def _repr_html_(self) -> str:
        from vmtrace.analyze.tables.human_table import summary_html

        return summary_html(self)

    def _connection_columns(self) -> Columns:
        if self._columns is None:
            self._columns = self._result.connections()
        return self._columns

    def _part(self, connections: Sequence[int] | None) -> "Record":
        """The JSON document with these connections alone (ascending numbers), with all of them for None."""
        import json

        buffer = io.BytesIO()
        self._result.write_json(
            buffer.write, vmtrace_version=version(), input_paths=self.paths, only_connections=connections
        )
        content: Record = json.loads(buffer.getvalue())
        if self._anonymizer:
            content["outcomes"] = self._anonymizer.outcomes(content["outcomes"])
            content |= self._anonymizer.beyond_tcp(content)
        return content

    @property
    def _in_order(self) -> list[Opened]:
        """The inputs in the order of the results."""
        return [self._inputs[position] for members in self._groups for position in members]

    def _states(self) -> list[tuple[int, ...] | None]:
        return [_state(one.file) for one in self._inputs]

    def _read_again(self, packets_of: tuple[int, ...]) -> _engine.Analysis:
        for one, before, now in zip(self._inputs, self._as_measured, self._states(), strict=True):
            if one.once:
                raise ValueError(f"{one.name} cannot be read twice: read with packets_of or keep_input")
            if now is not None and now != before:
                what = "it has changed since it was measured: analyse a copy of it"
                raise OSError(errno.ESTALE, what, one.file)
        return self._run(packets_of, before=self._result)

    def _read_by_index(self, packets_of: tuple[int, ...]) -> _engine.Analysis | None:
        """The same from the stretches that hold these packets; None where an index is missing or not enough."""
        if self._options.filter is not None or not packets_of:
            return None
        from vmtrace.analyze.read.second_reading import stretches_of

        flows = self._result.flows(packets_of)
        groups, first = [], 0
        for members in self._groups:
            groups.append(range(first, first + len(members)))
            first += len(members)
        chosen = {input_ for input_, _ in flows}
        [*some] = (group for group in groups if chosen & set(group))
        if len(some) != 1:
            return None
        inputs = {number: (self._in_order[number], self._versions[self._position(number)]) for number in some[0]}
        found = stretches_of(
            inputs, self.header()["inputs"], {flow for _, flow in flows}, self.index_problems, self._options.indexes
        )
        if found is None:
            return None
        oversize_abs_ms = self._options.oversize_abs_ms
        return _engine.analyze_stretches(
            found,
            packets_of,
            self._result,
            oversize_abs_ns=None if oversize_abs_ms is None else round(oversize_abs_ms * 1e6),
            progress=self._progress,
        )

    def _position(self, number: int) -> int:
        """Of an input of the results, its position among those given."""
        return [position for members in self._groups for position in members][number]

    def _run(
        self,
        packets_of: tuple[int, ...],
        *,
        before: _engine.Analysis | None = None,
        interrupted: bool = False,
        known_by_bytes: int | None = None,
    ) -> _engine.Analysis:
        options = self._options
        return _engine.analyze(
            [[self._inputs[position][:2] for position in members] for members in self._groups],
            threads=options.threads or len(os.sched_getaffinity(0)),
            oversize_abs_ns=None if options.oversize_abs_ms is None else round(options.oversize_abs_ms * 1e6),
            allowed_bps=options.allowed_bps,
            detail_connections=packets_of,
            measured_before=before,
            compile_filter=compiler(options.filter),
            key_log=None if options.key_log is None else secrets(options.key_log),
            datagrams_known_by_bytes=known_by_bytes,
            memory_bytes=half_bytes() if options.memory_bytes is None else options.memory_bytes,
            progress=self._progress,
            interrupted=interrupted,
        )


def _numbers(connections: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """Connections' numbers; raises `TypeError` for what is none."""
    several = connections if isinstance(connections, Iterable) else (connections,)
    return [index(one) for one in several]


def _anonymizer() -> "Anonymizer":
    from vmtrace.analyze.read.anonymize import Anonymizer

    return Anonymizer()


def _version(one: Opened) -> "Version | None":
    """What the capture's index must be of; None for what has none."""
    from vmtrace.analyze.read.capture_version import version_of

    name = one.data.url if isinstance(one.data, RemoteObject) else one.file
    try:
        return None if name is None else version_of(name)
    except OSError:
        return None


def _state(file: str | None) -> tuple[int, ...] | None:
    """What changes when a file is written to or replaced; None for what is no file (any more)."""
    if file is None:
        return None
    try:
        state = Path(file).stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
