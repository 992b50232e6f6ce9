"""Questions in SQL over tables, by DuckDB, and their answers as text: `vmtrace query`, `vmtrace corpus query`.

A question sees the tables that it is given and no file: it is not meant to read others, nor to write any.
"""

import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from vmtrace.analyze.tables.csv_files import harmless

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace


class QueryError(Exception):
    """A question that is wrong, or cannot be asked; the message is one line."""


def ask(tables: Callable[[], Mapping[str, Any]], question: str) -> pa.Table:
    """The answer's rows; `tables` gives Arrow's, in memory or as data sets, once it is known that they can be asked.

    Raises `QueryError`, and what `tables` raises.
    """
    try:
        import duckdb
    except ImportError:
        raise QueryError(f"questions need DuckDB: {sys.executable} -m pip install 'duckdb>=1.0'") from None
    with duckdb.connect() as connection:
        for name, table in tables().items():
            connection.register(name, table)
        connection.execute("SET enable_external_access = false")
        try:
            answer = connection.sql(question)
            if answer is None:
                raise QueryError("SQL error: it asks for nothing (SELECT does)")
            return answer.to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(f"SQL error: {str(error).splitlines()[0]}") from None


def tables_of(trace: "Trace", question: str) -> dict[str, pa.Table]:
    """The tables of captures; that of all packets only where the question names it."""
    from vmtrace.analyze.tables.write import tables

    packets_of = trace.values("id") if re.search(r"\bpackets\b", question) else ()
    return {name: pa.concat_tables(pieces) for name, pieces in tables(trace, packets_of)}


def shown(rows: pa.Table, how: str) -> str:
    """The rows as text."""
    if how == "json":
        return "".join(json.dumps(row, default=_plain) + "\n" for row in rows.to_pylist())
    if how == "csv":
        from pyarrow import csv

        out = pa.BufferOutputStream()
        csv.write_csv(harmless(rows), out)
        return bytes(out.getvalue()).decode()
    return _as_table(rows)


def _plain(value: object) -> object:
    """What JSON has no kind for: sums of whole numbers are decimals."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def _as_table(rows: pa.Table) -> str:
    from rich.console import Console

    from vmtrace.analyze.tables.table import Column, Row, Table, of_texts
    from vmtrace.analyze.tables.terminal_table import cards, fits, terminal_table
    from vmtrace.analyze.words.units import printable

    kinds = (field.type for field in rows.schema)
    left = [not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) for kind in kinds]
    width = get_terminal_size().columns if sys.stdout.isatty() else max(100, 24 * rows.num_columns)
    columns: Iterator[Column[Any]] = (
        Column(name, left=at_left) for name, at_left in zip(rows.column_names, left, strict=True)
    )
    cells = [
        tuple("" if value is None else printable(_cell(value)) for value in row.values()) for row in rows.to_pylist()
    ]
    table = Table(tuple(columns), tuple(map(Row, cells)))
    # The first column is the name of a card; any other has its own name there, texts, too.
    narrow = of_texts("", "", rows.column_names, cells, 1)
    drawn = terminal_table(table, width) if fits(table, width) else cards(narrow, width)
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(drawn)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
