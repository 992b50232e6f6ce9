"""Tables of records as CSV files in a folder, and `provenance.json` beside them: every report writes its own so."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vmtrace.analyze.read.atomic import make_folder, writing

Record = dict[str, Any]


def write_tables(tables: Mapping[str, Sequence[Record]], provenance: object, folder: Path) -> None:
    """One file for each table that has rows.

    Rows may name different things (factors, causes): a table has the columns of all of them.
    """
    make_folder(folder)
    for name, records in tables.items():
        if records:
            columns = dict.fromkeys(key for record in records for key in record)
            write_table(folder, name, records, tuple(columns))
    with writing(folder / "provenance.json") as out:
        out.write(json.dumps(provenance, indent=2).encode() + b"\n")


def write_table(folder: Path, name: str, records: Sequence[Record], columns: Sequence[str]) -> None:
    """One table with these columns."""
    import pyarrow as pa
    from pyarrow.csv import write_csv

    with writing(folder / f"{name.replace('_', '-')}.csv") as out:
        write_csv(pa.table({column: [record.get(column) for record in records] for column in columns}), out)


def flat(record: Record, prefix: str = "") -> Record:
    """A record without nesting: keys joined by underscores."""
    found: Record = {}
    for key, value in record.items():
        found |= flat(value, f"{prefix}{key}_") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
