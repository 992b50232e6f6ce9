"""Questions in SQL over the results of a run, by DuckDB. Tables: `connections`, `syns`, `lookups`, `echoes`.

Of the tables only the columns that the question names are read; those of a store are fetched first.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.analyze.read.stores import is_url
from vmtrace.analyze.tables import query
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import folder

if TYPE_CHECKING:
    import pyarrow as pa

_TABLES = ("connections", "syns", "lookups", "echoes")


def ask(results: str, question: str, endpoint_url: str | None = None) -> "pa.Table":
    """The answer's rows. Raises `CorpusError` for a question that is wrong, and `OSError`."""
    from pyarrow import dataset

    with tempfile.TemporaryDirectory(prefix="vmtrace-") as within:

        def tables() -> dict[str, dataset.Dataset]:
            files = {name: _files(results, name, endpoint_url, Path(within)) for name in _TABLES}
            return {name: dataset.dataset(found, format="parquet") for name, found in files.items()}

        try:
            return query.ask(tables, question)
        except query.QueryError as error:
            raise CorpusError(str(error)) from None


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
