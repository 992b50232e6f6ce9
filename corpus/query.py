"""Questions in SQL over the results of a run, by DuckDB. Tables: `connections`, `syns`, `lookups`.

Of the tables only the columns that the question names are read; those of a store are fetched first.
"""

import io
import json
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from vmtrace.analyze.read.stores.place import is_url
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import folder

_TABLES = ("connections", "syns", "lookups", "echoes")


def ask(results: str, question: str, endpoint_url: str | None = None) -> pa.Table:
    """The answer's rows. Raises `CorpusError` for a question that is wrong, and `OSError`."""
    try:
        import duckdb
    except ImportError:
        raise CorpusError(f"questions need DuckDB: {sys.executable} -m pip install 'duckdb>=1.0'") from None
    from pyarrow import dataset

    with tempfile.TemporaryDirectory(prefix="vmtrace-") as within, duckdb.connect() as connection:
        for name in _TABLES:
            connection.register(
                name, dataset.dataset(_files(results, name, endpoint_url, Path(within)), format="parquet")
            )
        # Only these tables: a question is not meant to read other files, nor to write any.
        connection.execute("SET enable_external_access = false")
        try:
            answer = connection.sql(question)
            if answer is None:
                raise CorpusError("the question is wrong: it asks for nothing (SELECT does)")
            return answer.to_arrow_table()
        except duckdb.Error as error:
            raise CorpusError(f"the question is wrong: {str(error).splitlines()[0]}") from None


def _files(results: str, name: str, endpoint_url: str | None, within: Path) -> list[str]:
    """The files of a table; those of a store are fetched."""
    if not is_url(results):
        path = Path(results, name)
        found = sorted(map(str, path.glob("*.parquet"))) or [str(path.with_suffix(".parquet"))]
        if not Path(found[0]).exists():
            raise CorpusError(f"{results}: no results of vmtrace corpus analyze are here ({name} is missing)")
        return found
    where = folder(results, endpoint_url)
    names = where.names(name) if name == "connections" else [f"{name}.parquet"]
    files = [where.local(one, within) for one in names]
    if not files or not files[0].stat().st_size:
        raise CorpusError(f"{results}: no results of vmtrace corpus analyze are here ({name} is missing)")
    return list(map(str, files))


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
