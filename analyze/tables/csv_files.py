"""Tables of records as CSV files in a folder, and `provenance.json` beside them: every report writes its own so.

Texts come from captures, which anybody may have filled: what a spreadsheet runs, or a terminal obeys, is made harmless.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.read.atomic import make_folder, writing
from vmtrace.analyze.words.units import STEERING

if TYPE_CHECKING:
    import pyarrow as pa

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
        table = pa.table({column: [record.get(column) for record in records] for column in columns})
        write_csv(harmless(table), out)


_RUNS = r"^([=+\-@])"
"""What a cell begins with that a spreadsheet takes for a formula."""


def harmless(table: "pa.Table") -> "pa.Table":
    """The table with texts that steer no terminal and run in no spreadsheet: an apostrophe goes before a formula."""
    import pyarrow as pa
    from pyarrow import compute

    for number, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = table.column(number).cast(kind)
            column = compute.replace_substring_regex(column, STEERING, "\N{REPLACEMENT CHARACTER}")
            column = compute.replace_substring_regex(column, _RUNS, r"'\1")
            table = table.set_column(number, field.with_type(kind), column)
    return table


def with_names(head: str, tables: Iterable[tuple[str, Mapping[str, Iterable[Record]]]]) -> dict[str, list[Record]]:
    """Tables of several runs as flat rows; the name of each row's run stands in the first column, `head`."""
    rows: dict[str, list[Record]] = {}
    for run, named in tables:
        for name, records in named.items():
            rows.setdefault(name, []).extend({head: run} | flat(record) for record in records)
    return rows


def flat(record: Record, prefix: str = "") -> Record:
    """A record without nesting: keys joined by underscores. CSV has no lists: they become JSON."""
    found: Record = {}
    for key, value in record.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}_")
        else:
            found[f"{prefix}{key}"] = json.dumps(value) if isinstance(value, list | tuple) else value
    return found
