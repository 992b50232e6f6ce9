"""The results of a run: the connection table in parts, SYNs and lookups, and the JSON document of one process."""

import heapq
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from vmtrace.analyze import _engine
from vmtrace.analyze.findings import selection
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.lines import finding_lines
from vmtrace.analyze.findings.ranking import findings
from vmtrace.analyze.trace import version
from vmtrace.analyze.words.document import Appending
from vmtrace.corpus.buckets import (
    FEW_CONNECTIONS,
    LINES,
    LINES_WITH_INTERVALS,
    SMALL_PARTS,
    Shared,
    json_value,
    part_name,
)
from vmtrace.corpus.engine import Record, document, parsed, written
from vmtrace.corpus.folder import Folder, folder
from vmtrace.corpus.merging import (
    CROSSING,
    Ids,
    merged_header,
    merged_lookups,
    merged_protocols,
    merged_syns,
    merged_top,
    numbered,
)
from vmtrace.corpus.outcomes import merged_outcomes
from vmtrace.corpus.overview import COLUMNS, Overview, overview_of
from vmtrace.corpus.splitting import Manifest

CONNECTIONS = "connections"
DOCUMENT = "analysis.json"
_GROUP_ROWS = 1 << 14
_ROWS_AT_ONCE = 1 << 13
_WRITTEN_BYTES = 4 << 20
_READ_BYTES, _LEAST_READ_BYTES = 32 << 20, 64 << 10
"""Of all buckets' lines at a time, and of one's."""


@dataclass(frozen=True, slots=True)
class TableTask:
    """The connection table of a bucket, to be written with the numbers among all."""

    out: str
    bucket: int
    of: str
    """The runs and buckets it comes from."""
    endpoint_url: str | None = None

    @property
    def name(self) -> str:
        """The table's."""
        return _table_name(self.bucket)


def _table_name(bucket: int) -> str:
    return f"{CONNECTIONS}/part-{bucket:05}.parquet"


def write_table(task: TableTask, progress: object = None) -> str:  # noqa: ARG001 - the tasks of all stages have it
    """Do a task; the name of the table. A bucket without connections has a table, too: its columns."""
    from pyarrow.parquet import ParquetWriter

    out = folder(task.out, task.endpoint_url)
    done = part_name(task.bucket, ".table")
    if out.get(done) == task.of.encode():
        return task.name
    ids = np.frombuffer(out.get(part_name(task.bucket, ".ids")) or b"", dtype="<u4")
    metadata = {"vmtrace.schema": "vmtrace.analysis/1", "vmtrace.vmtrace": version()}
    with tempfile.TemporaryDirectory(prefix="vmtrace-") as within:
        source = out.local(part_name(task.bucket, ".arrow"), Path(within))
        target = Path(within, "table.parquet")
        with pa.memory_map(str(source)) as file, pa.ipc.open_stream(file) as reader:
            first = 0
            with ParquetWriter(target, reader.schema.with_metadata(metadata), compression="zstd") as writer:
                for table in _groups(reader):
                    numbers = pa.array(ids[first : first + table.num_rows], pa.uint32()).cast(
                        table.schema.field("id").type
                    )
                    first += table.num_rows
                    numbered_table = table.set_column(table.schema.get_field_index("id"), "id", numbers)
                    writer.write_table(numbered_table.replace_schema_metadata(metadata))
        out.put(task.name, target)
    out.put(done, task.of.encode())
    return task.name


def _groups(reader: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    for batch in reader:
        held.append(pa.Table.from_batches([batch]))
        if sum(one.num_rows for one in held) >= _GROUP_ROWS:
            yield pa.concat_tables(held).unify_dictionaries()
            held = []
    if held:
        yield pa.concat_tables(held).unify_dictionaries()


def records_of(out: Folder, buckets: int) -> list[Record]:
    """What each bucket left to be merged."""
    return [parsed(out.get(part_name(bucket, ".json")) or b"{}") for bucket in range(buckets)]


def table_bytes(record: Record, bucket: int) -> int:
    """Of a bucket's connections before they have their numbers among all."""
    size: int = record["parts"][part_name(bucket, ".arrow")]
    return size


@dataclass(frozen=True, slots=True)
class Crossing:
    """What connections of several buckets show together."""

    top: Record
    """Keys of the document: shared limits, servers."""
    shared: tuple[tuple[Shared, ...], ...]
    """For each bucket the limits that its connections share with others."""


def crossing(out: Folder, records: Sequence[Record]) -> Crossing:
    """Of all buckets. One alone has found all there is."""
    if len(records) == 1:
        return Crossing({key: one for key, one in records[0]["top"].items() if key in CROSSING}, ((),))
    orders, flows, servers = (
        [out.get(part_name(bucket, ending)) or b"" for bucket in range(len(records))] for ending in SMALL_PARTS
    )
    ids = [numbers.astype("<u4").tobytes() for numbers in numbered(orders)]
    merged, shared = _engine.merge_buckets(list(zip(flows, servers, ids, strict=True)))
    top = parsed(document(merged, []))
    return Crossing({key: one for key, one in top.items() if key in CROSSING}, tuple(map(tuple, shared)))


def number(out: Folder, records: Sequence[Record]) -> list[Ids]:
    """The numbers of all connections, also put where the tables find them."""
    ids = numbered([out.get(part_name(bucket, ".orders")) or b"" for bucket in range(len(records))])
    for bucket, numbers in enumerate(ids):
        out.put(part_name(bucket, ".ids"), numbers.astype("<u4").tobytes())
    return ids


def write_small_tables(out: Folder, runs: Sequence[Manifest], records: Sequence[Record], beyond: Record) -> None:
    """`syns.parquet` and `lookups.parquet`, with the columns that one process gives."""
    nothing = _engine.analyze([])
    _put_table(out, "syns.parquet", merged_syns(records), pa.table(nothing.syns()).schema)
    # One process keeps a number of them; where there are more, all of them are taken run by run.
    lookups = beyond["lookups"]
    found = merged_lookups(runs, records) if lookups is None else lookups
    _put_table(out, "lookups.parquet", found, pa.table(nothing.lookups()).schema)


def _put_table(out: Folder, name: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    from pyarrow.parquet import write_table as write

    plain = pa.schema(
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    )
    with tempfile.NamedTemporaryFile(prefix="vmtrace-") as file:
        write(pa.Table.from_pylist(rows, plain), file.name, compression="zstd")
        out.put(name, Path(file.name))


def header(
    runs: Sequence[Manifest], records: Sequence[Record], ids: Sequence[Ids], crossing: Crossing, beyond: Record
) -> Record:
    """The document without its connections."""
    top = merged_top(records, ids)
    before = {key: top.pop(key) for key in ("schema", "vmtrace", "interrupted", "reasons")}
    outcomes = merged_outcomes(
        (record["top"]["outcomes"], numbers) for record, numbers in zip(records, ids, strict=True)
    )
    inputs = merged_header(runs, records)
    no_tcp: Record = beyond["document"] | {"protocols": merged_protocols(runs)}
    return before | {"inputs": inputs, "outcomes": outcomes, "connections": []} | crossing.top | top | no_tcp


def write_document(out: Folder, header: Record, ids: Sequence[Ids], beyond: Record) -> list[Finding]:
    """The JSON document of one process, with all connections in the order of their numbers; its findings."""
    lookup_of = {int(number): place for number, place in beyond["lookup_of"].items()}
    ending = LINES_WITH_INTERVALS if sum(map(len, ids)) <= FEW_CONNECTIONS else LINES
    with tempfile.TemporaryDirectory(prefix="vmtrace-") as within:
        path = Path(within, "document.json")
        read_bytes = max(_LEAST_READ_BYTES, _READ_BYTES // max(1, len(ids)))
        lines = [
            _lines(out.local(part_name(bucket, ending), Path(within)), numbers, read_bytes)
            for bucket, numbers in enumerate(ids)
            if len(numbers)
        ]
        wanted, looked_at = _to_look_at(out, len(ids), Path(within)), []
        before, after = _around(header)
        with path.open("wb", buffering=_WRITTEN_BYTES) as file:
            file.write(before)
            comma = b""
            for number_, plain in heapq.merge(*lines):
                line = _with_lookup(plain, lookup_of.get(number_))
                file.write(b'%b\n{"id":%d%b' % (comma, number_, line))
                comma = b","
                if number_ in wanted:
                    looked_at.append(json.loads(b'{"id":%d%b' % (number_, line)))
            # As one process finds them: in a document as it is read.
            found = findings(Facts.of_document({**json.loads(before + after), "connections": looked_at}))
            appending = Appending(file.write)
            appending(after)
            appending.finish({"findings": [one.as_record() for one in found]})
        out.put(DOCUMENT, path)
    return found


def _with_lookup(line: bytes, place: int | None) -> bytes:
    """Which lookup a connection waited for is known of all runs only: its key is the last one."""
    if place is None:
        return line
    before, _, _ = line.rpartition(b"null}")
    return b"%b%d}" % (before, place)


def _to_look_at(out: Folder, buckets: int, within: Path) -> frozenset[int]:
    """Connections that findings are made of, by the same rule as in one process."""
    tables = list(_tables(out, buckets, within, selection.COLUMNS))
    whole = pa.concat_tables(table.combine_chunks() for table in tables).unify_dictionaries() if tables else None
    return (
        frozenset()
        if whole is None
        else frozenset(selection.chosen([whole.column(name).to_pylist() for name in selection.COLUMNS]))
    )


def _around(header: Record) -> tuple[bytes, bytes]:
    """What stands before and behind the connections."""
    text = written(header)
    mark = '"connections":['
    at = text.index(mark) + len(mark)
    return text[:at].encode(), (text[at:] + "\n").encode()


def _lines(path: Path, numbers: Ids, read_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The connections of a bucket's document: the number among all, and the line from behind the number in it."""
    lines = _lines_of(path, read_bytes)
    next(lines)  # what stands before them
    for number_ in numbers.tolist():
        line = next(lines)
        # All but the last have a comma behind them.
        end = len(line) - 2 if line.endswith(b",\n") else len(json_value(line))
        yield number_, line[line.index(b",") : end]


def _lines_of(path: Path, read_bytes: int) -> Iterator[bytes]:
    """The lines of a file that is not kept open: all buckets are merged at once, and may be more than can be open."""
    at = 0
    while True:
        with path.open("rb", buffering=read_bytes) as file:
            file.seek(at)
            some = file.readlines(read_bytes)
            at = file.tell()
        if not some:
            return
        yield from some


def write_page(out: Folder, document: Record, buckets: int, found: Sequence[Finding]) -> Overview:
    """`report.html`, from the connection tables."""
    from vmtrace.corpus.page import write_page as write

    with tempfile.TemporaryDirectory(prefix="vmtrace-") as within:
        overview = overview_of(_tables(out, buckets, Path(within), COLUMNS))
        path = Path(within, "report.html")
        provenance = {"schema": "vmtrace.corpus/1", "vmtrace": version(), "out": out.url}
        write(overview, document["inputs"], finding_lines(found), provenance, path)
        out.put("report.html", path)
    return overview


def _tables(out: Folder, buckets: int, within: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    from pyarrow.parquet import ParquetFile

    for bucket in range(buckets):
        with ParquetFile(out.local(_table_name(bucket), within)) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(columns)):
                yield pa.Table.from_batches([batch])


def put_manifest(out: Folder, record: dict[str, Any]) -> None:
    """What was done, for people and for the next run."""
    out.put("manifest.json", (json.dumps(record, indent=1) + "\n").encode())
