"""A capture that was read: the object that the command and a notebook work with.

Reading happens once, for all connections. The packets of a connection are read on demand, in a further pass over the
files, because keeping them all would take as much memory as the capture.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from analyze import _engine
from analyze._engine import Columns, TraceError
from analyze.capture_files import STANDARD_INPUT
from analyze.grouping import Grouping, Input, group

if TYPE_CHECKING:
    import pyarrow

    from analyze.anonymize import Anonymizer
    from analyze.document import Record

__all__ = ["Options", "Trace", "TraceError", "read", "version"]

Source = str | os.PathLike[str] | bytes | IO[bytes]
"""A path (`-`: standard input), the bytes of a capture, or a file opened in binary mode."""

Progress = Callable[[int], object]
"""Called about 20 times a second with the bytes consumed so far."""


class Options(NamedTuple):
    """How to read."""

    filter: str | None = None
    """Only packets that match this BPF expression (`tcp port 443`); needs libpcap."""
    threads: int = 0
    """0: as many as there are cores."""
    grouping: Grouping = Grouping.AUTO
    """Whether several captures are parts of one run."""
    oversize_abs_ms: float | None = None
    """Count a spacing as oversize from this length on, instead of by the adaptive rule."""
    packets_of: tuple[int, ...] = ()
    """Connections whose packets are wanted right away: saves the second pass for them."""
    keep_input: bool = False
    """Keep a copy of what comes from standard input, so that packets can be asked for later."""
    anonymize: bool = False
    """Replace addresses, server names and folders by made-up ones (see `analyze.anonymize`)."""


_DEFAULTS = Options()


def version() -> str:
    """The version of vmtrace."""
    return _engine.VERSION


def read(*sources: Source, options: Options = _DEFAULTS, progress: Progress | None = None) -> "Trace":
    """Measure captures.

    Raises `FileNotFoundError`, `PermissionError` and other `OSError`s, `TraceError` for what is not a capture, and
    `ValueError` for a bad filter. Ctrl-C stops the reading; what was measured until then is kept (`interrupted`).
    """
    if options.filter is not None:
        from analyze.filter import checked

        checked(options.filter)
    spool: list[IO[bytes]] = []
    inputs = [_as_input(source, options, spool) for source in sources]
    return Trace(inputs, [_name(source) for source in sources], options, progress, spool)


class Trace:
    """What was measured. The tables go into pyarrow, polars, pandas and DuckDB as they are."""

    def __init__(
        self,
        inputs: Sequence[Input],
        names: Sequence[str],
        options: Options,
        progress: Progress | None,
        spool: list[IO[bytes]],
    ) -> None:
        self._inputs = list(inputs)
        self._names = list(names)
        self._options = options
        self._progress = progress
        self._spool = spool
        self._groups = group(self._inputs, options.grouping)
        self._anonymizer = _anonymizer() if options.anonymize else None
        self._result = self._run(options.packets_of)
        self._detail = (options.packets_of, self._result)
        self._columns: Columns | None = None
        self._some_columns: dict[str, list[Any]] = {}
        self._header: Record | None = None

    @property
    def interrupted(self) -> bool:
        """True if the reading was stopped before the end: the numbers then are about the part that was read."""
        return self._result.interrupted

    @property
    def paths(self) -> list[str]:
        """The inputs' names as results show them, in the order of the results."""
        names = [self._names[position] for members in self._groups for position in members]
        return [self._anonymizer.path(name) for name in names] if self._anonymizer else names

    @property
    def errors(self) -> list[Exception]:
        """What was wrong with inputs that could not be read, while others could."""
        return self._result.errors

    @property
    def files(self) -> list[str]:
        """The inputs that are files, by their true names."""
        return [os.fspath(i) for i in self._inputs if not isinstance(i, bytes) and i != STANDARD_INPUT]

    def file_of(self, number: int) -> Path | None:
        """The file behind an input of the results, by its true name; None for what is no file."""
        order = [position for members in self._groups for position in members]
        source = self._inputs[order[number]]
        return None if isinstance(source, bytes) or source == STANDARD_INPUT else Path(source)

    @property
    def connections(self) -> "Columns | pyarrow.Table":
        """One row for each connection; columns are named by the JSON path joined with `_`."""
        if self._anonymizer is None:
            return self._connection_columns()
        import pyarrow

        mask = self._anonymizer.value
        table = pyarrow.table(self._connection_columns())
        for index, name in enumerate(table.column_names):
            if name in self._anonymizer.COLUMNS:
                values = [mask(name, value) for value in table[name].to_pylist()]
                table = table.set_column(index, name, pyarrow.array(values, pyarrow.string()))
        return table

    @property
    def lookups(self) -> Columns:
        """One row for each address that a name lookup (DNS) in the capture was answered with; never anonymised."""
        return self._result.lookups()

    @property
    def lookups_not_kept(self) -> int:
        """Answers beyond those that `lookups` has room for."""
        return self._result.lookups_not_kept

    @property
    def syns(self) -> Columns:
        """One row for each second of the capture, with its SYNs and their fate."""
        return self._result.syns()

    def packets(self, connection: int | Iterable[int]) -> Columns:
        """One row for each packet of these connections, in time order. Reads the files once more."""
        wanted = (connection,) if isinstance(connection, int) else tuple(connection)
        if not set(wanted) <= set(self._detail[0]):
            if STANDARD_INPUT in self._inputs:
                raise ValueError("standard input cannot be read twice: read with packets_of or keep_input")
            self._detail = (wanted, self._run(wanted))
        return self._detail[1].packets()

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._result)

    @property
    def column_names(self) -> list[str]:
        """The names of the connection table's columns."""
        return self._result.connections(rows=()).names

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

    def largest(self, limit: int | None = None) -> list[int]:
        """The rows of the connection table, the one of most bytes on the wire first."""
        return self._result.largest(len(self) if limit is None else limit)

    def header(self) -> "Record":
        """The JSON document without its connections."""
        if self._header is None:
            # Connections are numbered from 1.
            self._header = self._part(0)
            del self._header["connections"]
        return self._header

    def records(self, connections: Iterable[int]) -> "list[Record]":
        """The JSON records of these connections, in the order asked for; `KeyError` for one that there is not."""
        records = []
        for number in connections:
            found = self._part(number)["connections"] if number > 0 else []
            if not found:
                raise KeyError(number)
            records.append(self._anonymizer.connection(found[0]) if self._anonymizer else found[0])
        return records

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

    def write_json(self, write: Callable[[bytes], object]) -> None:
        """Write the JSON document by calling `write` with consecutive pieces of it."""
        if self._anonymizer is None:
            self._result.write_json(write, vmtrace_version=version(), input_paths=self.paths)
            return
        import json

        content = self._part(None)
        content["connections"] = [self._anonymizer.connection(record) for record in content["connections"]]
        write(json.dumps(content, ensure_ascii=False).encode() + b"\n")

    def summary(self, *, limit: int = 20, width: int = 100) -> str:
        """The table that `vmtrace analyze` prints."""
        from analyze.human_table import summary_text

        return summary_text(self, limit=limit, width=width)

    def __repr__(self) -> str:
        return f"<vmtrace.Trace of {', '.join(map(repr, self.paths))}: {len(self)} connections>"

    def _repr_html_(self) -> str:
        from analyze.human_table import summary_html

        return summary_html(self)

    def _connection_columns(self) -> Columns:
        if self._columns is None:
            self._columns = self._result.connections()
        return self._columns

    def _part(self, connection: int | None) -> "Record":
        """The JSON document with this connection alone, with all of them for None."""
        import json

        buffer = io.BytesIO()
        self._result.write_json(
            buffer.write, vmtrace_version=version(), input_paths=self.paths, only_connection=connection
        )
        content: Record = json.loads(buffer.getvalue())
        return content

    def _run(self, packets_of: tuple[int, ...]) -> _engine.Analysis:
        options = self._options
        return _engine.analyze(
            [[self._inputs[position] for position in members] for members in self._groups],
            threads=options.threads or len(os.sched_getaffinity(0)),
            oversize_abs_ns=None if options.oversize_abs_ms is None else round(options.oversize_abs_ms * 1e6),
            detail_connections=packets_of,
            compile_filter=_compiler(options.filter),
            progress=self._progress,
        )


def _anonymizer() -> "Anonymizer":
    from analyze.anonymize import Anonymizer

    return Anonymizer()


def _compiler(expression: str | None) -> Callable[[int, int], bytes] | None:
    if expression is None:
        return None
    from analyze.filter import compile_filter

    return lambda link_type, snap_length: compile_filter(expression, link_type, snap_length)


def _as_input(source: Source, options: Options, spool: list[IO[bytes]]) -> Input:
    if source == STANDARD_INPUT and options.keep_input:
        return _spooled(sys.stdin.buffer, spool)
    if isinstance(source, str | os.PathLike | bytes):
        return source
    return _spooled(source, spool)


def _spooled(stream: IO[bytes], spool: list[IO[bytes]]) -> str:
    """The stream's content in a temporary file (mode 0600) that lives as long as `spool`."""
    import shutil
    import tempfile

    file = tempfile.NamedTemporaryFile(prefix="vmtrace-", suffix=".capture")  # noqa: SIM115 - lives on in `spool`
    shutil.copyfileobj(stream, file, 1 << 20)
    file.flush()
    spool.append(file)
    return file.name


def _name(source: Source) -> str:
    if isinstance(source, bytes):
        return "<bytes>"
    if isinstance(source, str | os.PathLike):
        return "<stdin>" if source == STANDARD_INPUT else os.fspath(source)
    return str(getattr(source, "name", "<stream>"))
