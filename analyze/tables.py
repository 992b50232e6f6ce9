"""Tables on disk, CSV and Parquet: connections, SYNs over time, and the packets of chosen connections.

Parquet files hold their provenance as metadata; beside CSV files it lies as `provenance.json`, because a comment in a
CSV file is read as data by most tools.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from analyze.atomic import make_folder, writing
from analyze.provenance import Provenance

if TYPE_CHECKING:
    from analyze.trace import Trace


_NAMES = ("connections", "syns", "packets", "providers")


def write_csv(trace: "Trace", folder: Path, packets_of: Sequence[int], provenance: Provenance) -> None:
    """Write `connections.csv`, `syns.csv`, `packets.csv` (if `packets_of`) and `provenance.json`.

    Of these and `providers.csv` an earlier one that is not written anew goes: it is about another capture.
    """
    from pyarrow.csv import write_csv as write

    def write_table(table: pa.Table, out: BinaryIO) -> None:
        write(_without_dictionaries(table), out)

    _write_all(_tables(trace, packets_of), folder, "csv", write_table)
    with writing(folder / "provenance.json") as out:
        out.write(json.dumps(provenance, indent=2).encode() + b"\n")


def write_parquet(trace: "Trace", folder: Path, packets_of: Sequence[int], provenance: Provenance) -> None:
    """Write `connections.parquet`, `syns.parquet` and `packets.parquet` (if `packets_of`), compressed with zstd.

    An earlier one of these that is not written anew goes: it is about another capture.
    """
    from pyarrow.parquet import write_table as write

    metadata = {
        f"vmtrace.{name}": value if isinstance(value, str) else json.dumps(value) for name, value in provenance.items()
    }

    def write_table(table: pa.Table, out: BinaryIO) -> None:
        write(table.replace_schema_metadata(metadata), out, compression="zstd")

    _write_all(_tables(trace, packets_of), folder, "parquet", write_table)


def write_providers_csv(records: Sequence[dict[str, str | int | float | None]], folder: Path) -> None:
    """Write `providers.csv`."""
    from pyarrow.csv import write_csv as write

    make_folder(folder)
    with writing(folder / "providers.csv") as out:
        write(pa.Table.from_pylist(list(records)), out)


def _tables(trace: "Trace", packets_of: Sequence[int]) -> Iterator[tuple[str, pa.Table]]:
    yield "connections", pa.table(trace.connections)
    yield "syns", pa.table(trace.syns)
    if packets_of:
        yield "packets", pa.table(trace.packets(packets_of))


def _write_all(
    tables: Iterator[tuple[str, pa.Table]], folder: Path, extension: str, write: Callable[[pa.Table, BinaryIO], None]
) -> None:
    make_folder(folder)
    left = set(_NAMES)
    for name, table in tables:
        with writing(folder / f"{name}.{extension}") as out:
            write(table, out)
        left.discard(name)
    for name in left:
        (folder / f"{name}.{extension}").unlink(missing_ok=True)


def _without_dictionaries(table: pa.Table) -> pa.Table:
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
