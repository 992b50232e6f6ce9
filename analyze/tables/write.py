"""Tables on disk, CSV and Parquet: connections, SYNs over time, flows, names, and the packets of chosen connections.

Parquet files hold their provenance as metadata; beside CSV files it lies as `provenance.json`, because a comment in a
CSV file is read as data by most tools.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from vmtrace.analyze.read.atomic import make_folder, writing
from vmtrace.analyze.tables.csv_files import harmless
from vmtrace.analyze.tables.provenance import Provenance

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace


_NAMES = ("connections", "findings", "syns", "flows", "lookups", "packets", "providers")
_ROWS_AT_ONCE = 1 << 13
"""Of the connection table, whose columns take some 5 kB a row while they are made."""
_PACKETS_AT_ONCE = 1 << 19
"""Of the table of packets, whose columns take 0.2 kB a row."""
_PIECES_IN_A_GROUP = 2
"""Rows that a Parquet file compresses together: in smaller groups all columns say anew what their values are."""

_Pieces = Iterator[pa.Table]


def write_csv(trace: "Trace", folder: Path, packets_of: Sequence[int], provenance: Provenance) -> None:
    """Write `connections`, `findings`, `syns`, `flows`, `lookups`, `packets.csv` (if `packets_of`), `provenance.json`.

    Of these and `providers.csv` an earlier one that is not written anew goes: it is about another capture.
    """
    from pyarrow.csv import CSVWriter

    def write_table(pieces: _Pieces, out: BinaryIO) -> None:
        first = harmless(next(pieces))
        with CSVWriter(out, first.schema) as writer:
            writer.write_table(first)
            for piece in pieces:
                writer.write_table(harmless(piece))

    _write_all(tables(trace, packets_of), folder, "csv", write_table)
    with writing(folder / "provenance.json") as out:
        out.write(json.dumps(provenance, indent=2).encode() + b"\n")


def write_parquet(trace: "Trace", folder: Path, packets_of: Sequence[int], provenance: Provenance) -> None:
    """Write `connections`, `syns`, `flows`, `lookups` and `packets.parquet` (if `packets_of`), compressed with zstd.

    An earlier one of these that is not written anew goes: it is about another capture.
    """
    from pyarrow.parquet import ParquetWriter

    metadata = {
        f"vmtrace.{name}": value if isinstance(value, str) else json.dumps(value) for name, value in provenance.items()
    }

    def write_table(pieces: _Pieces, out: BinaryIO) -> None:
        first = next(pieces).replace_schema_metadata(metadata)
        with ParquetWriter(out, first.schema, compression="zstd") as writer:
            some = [first]
            while some:
                group = pa.concat_tables([*some, *islice(pieces, _PIECES_IN_A_GROUP - len(some))])
                # Each piece numbers the texts of a category as they come.
                writer.write_table(group.unify_dictionaries().replace_schema_metadata(metadata))
                some = list(islice(pieces, 1))

    _write_all(tables(trace, packets_of), folder, "parquet", write_table)


def write_providers_csv(records: Sequence[dict[str, str | int | float | None]], folder: Path) -> None:
    """Write `providers.csv`."""
    from pyarrow.csv import write_csv as write

    make_folder(folder)
    with writing(folder / "providers.csv") as out:
        write(harmless(pa.Table.from_pylist(list(records))), out)


def tables(trace: "Trace", packets_of: Sequence[int]) -> Iterator[tuple[str, _Pieces]]:
    """The tables by name, each in pieces, of which there is at least one."""
    yield "connections", trace.connection_tables(_ROWS_AT_ONCE)
    yield "findings", iter((_findings(trace),))
    yield "syns", iter((pa.table(trace.syns),))
    yield "flows", iter((trace.flow_table,))
    yield "lookups", iter((trace.lookup_table,))
    if packets_of:
        yield "packets", trace.packet_tables(packets_of, _PACKETS_AT_ONCE)


FINDINGS = pa.schema(
    {
        **dict.fromkeys(("kind", "owner"), pa.string()),
        **dict.fromkeys(("cost_s", "share", "confidence"), pa.float64()),
        **dict.fromkeys(("connections_count", "flows_count", "lookups_count"), pa.int64()),
        **dict.fromkeys(("sentence", "remedy"), pa.string()),
    }
)
"""Columns of the table of findings."""


def _findings(trace: "Trace") -> pa.Table:
    """One row for each finding, the costliest first; which connections it concerns is in the JSON."""
    return pa.Table.from_pylist([one.as_record() for one in trace.findings], FINDINGS)


def _write_all(
    tables: Iterator[tuple[str, _Pieces]], folder: Path, extension: str, write: Callable[[_Pieces, BinaryIO], None]
) -> None:
    make_folder(folder)
    left = set(_NAMES)
    for name, pieces in tables:
        with writing(folder / f"{name}.{extension}") as out:
            write(pieces, out)
        left.discard(name)
    for name in left:
        (folder / f"{name}.{extension}").unlink(missing_ok=True)
