"""Questions in SQL over tables, by DuckDB, and their answers as text: `vmtrace query`, `vmtrace corpus query`.

A question sees the tables that it is given and no file: it is not meant to read others, nor to write any.
"""

import io
import json
import re
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

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
                raise QueryError("the question is wrong: it asks for nothing (SELECT does)")
            return answer.to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(f"the question is wrong: {str(error).splitlines()[0]}") from None


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
        csv.write_csv(rows, out)
        return bytes(out.getvalue()).decode()
    return _as_table(rows)


def _plain(value: object) -> object:
    """What JSON has no kind for: sums of whole numbers are decimals."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def _as_table(rows: pa.Table) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from vmtrace.analyze.words.units import printable

    table = Table(box=None, pad_edge=False)
    for field in rows.schema:
        numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        table.add_column(Text(field.name), justify="right" if numeric else "left")
    for row in rows.to_pylist():
        table.add_row(*(Text("" if value is None else printable(_cell(value))) for value in row.values()))
    out = io.StringIO()
    Console(file=out, width=max(100, 24 * rows.num_columns), no_color=True).print(table)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
