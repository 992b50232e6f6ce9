"""Questions in SQL over the results of a run, by DuckDB. Tables: `connections`, `syns`, `lookups`.

The tables are read where they lie; of each only the columns that the question names.
"""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from analyze.stores.place import is_url, parsed
from corpus.errors import CorpusError

_TABLES = ("connections", "syns", "lookups")


def ask(results: str, question: str, endpoint_url: str | None = None) -> pa.Table:
    """The answer's rows. Raises `CorpusError` for a question that is wrong, and `OSError`."""
    try:
        import duckdb
    except ImportError:
        raise CorpusError("questions need DuckDB: pip install 'vmtrace[cluster]'") from None
    with duckdb.connect() as connection:
        for name in _TABLES:
            connection.register(name, _table(results, name, endpoint_url))
        # Only these tables: a question is not meant to read other files, nor to write any.
        connection.execute("SET enable_external_access = false")
        try:
            return connection.execute(question).to_arrow_table()
        except duckdb.Error as error:
            raise CorpusError(f"the question is wrong: {str(error).splitlines()[0]}") from None


def _table(results: str, name: str, endpoint_url: str | None) -> Any:
    from pyarrow import dataset

    suffix = "" if name == "connections" else ".parquet"
    if not is_url(results):
        path = Path(results, name + suffix)
        if not path.exists():
            raise CorpusError(f"{results}: no results of vmtrace corpus analyze are here ({name} is missing)")
        return dataset.dataset(str(path), format="parquet")
    from obstore.fsspec import FsspecStore
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    from analyze.stores.listing import find

    found = find(f"{results.rstrip('/')}/{name}{suffix or '/'}", endpoint_url)
    if not found:
        raise CorpusError(f"{results}: no results of vmtrace corpus analyze are here ({name} is missing)")
    scheme = parsed(results).root.partition("://")[0]
    options = {"endpoint": endpoint_url, "client_options": {"allow_http": True}} if endpoint_url else {}
    client: Any = FsspecStore
    files = PyFileSystem(FSSpecHandler(client(scheme, **options)))
    return dataset.dataset([one.partition("://")[2] for one in found], filesystem=files, format="parquet")


def shown(rows: pa.Table, how: str) -> str:
    """The rows as text."""
    if how == "json":
        return "".join(json.dumps(row, default=str) + "\n" for row in rows.to_pylist())
    if how == "csv":
        from pyarrow import csv

        out = pa.BufferOutputStream()
        csv.write_csv(rows, out)
        return bytes(out.getvalue()).decode()
    return _as_table(rows)


def _as_table(rows: pa.Table) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from analyze.units import printable

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
