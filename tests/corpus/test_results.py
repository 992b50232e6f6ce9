"""Tables are written with the numbers among all, also those without rows."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from analyze.trace import connection_columns
from corpus.folder import folder
from corpus.results import TableTask, header, records_of, write_table
from tests.corpus.oracle import run
from tests.corpus.test_commands import files_in


def test_a_table_has_the_numbers_that_it_is_given(tmp_path: Path) -> None:
    run(files_in(tmp_path / "in"), tmp_path / "out", 64, keep_slices=True)
    out = folder(str(tmp_path / "out"))
    records = records_of(out, 64)
    full = next(bucket for bucket, record in enumerate(records) if record["connections"])
    empty = next(bucket for bucket, record in enumerate(records) if not record["connections"])
    numbers = np.arange(1000, 1000 + records[full]["connections"], dtype="<u4")
    out.put(f"buckets/{full:05}.ids", numbers.tobytes())
    name = write_table(TableTask(str(tmp_path / "out"), full, "anew"))
    table = pq.read_table(tmp_path / "out" / name)
    assert table["id"].to_pylist() == numbers.tolist()
    assert table.schema.names == connection_columns().names
    none = pq.read_table(tmp_path / f"out/connections/part-{empty:05}.parquet")
    assert none.num_rows == 0
    assert none.schema.names == table.schema.names


def test_the_header_stands_in_the_order_of_one_process(tmp_path: Path) -> None:
    top = {"schema": "s", "vmtrace": "v", "interrupted": False, "reasons": {}, "more": [], "outcomes": []}
    record = {"top": {**top, "request_servers": []}, "header": []}
    assert list(header([], [record], [np.empty(0, np.uint32)])) == [
        *("schema", "vmtrace", "interrupted", "reasons", "inputs", "outcomes", "connections", "more")
    ]
