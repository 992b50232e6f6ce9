"""Tables are written with the numbers among all, also those without rows."""

import json
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.corpus.oracle import run
from tests.corpus.test_commands import files_in
from vmtrace.analyze.trace import connection_columns
from vmtrace.corpus.buckets import LINES, part_name
from vmtrace.corpus.folder import folder
from vmtrace.corpus.results import Crossing, TableTask, header, records_of, write_document, write_table


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


def test_there_may_be_more_buckets_than_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.corpus.results._to_look_at", lambda *_: frozenset())
    out, last = folder(str(tmp_path)), 300
    for bucket in range(last):
        out.put(part_name(bucket, LINES), b'{"connections":[\n{"id":1,"bucket":%d}]}\n' % bucket)
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(few, 256), most))
    try:
        numbers = [np.array([last - bucket], np.uint32) for bucket in range(last)]
        write_document(out, {"connections": []}, numbers, {"lookup_of": {}})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
    written = json.loads(out.get("analysis.json") or b"")["connections"]
    assert written == [{"id": number, "bucket": last - number} for number in range(1, last + 1)]


def test_the_header_stands_in_the_order_of_one_process(tmp_path: Path) -> None:
    top = {"schema": "s", "vmtrace": "v", "interrupted": False, "reasons": {}, "more": [], "outcomes": []}
    record = {"top": {**top, "request_servers": []}, "header": [], "clock_steps": []}
    rest: dict[str, Any] = {"document": {"lookups": [], "neighbours": [], "protocols": []}}
    assert list(header([], [record], [np.empty(0, np.uint32)], Crossing({"request_servers": []}, ()), rest)) == [
        *(
            "schema",
            "vmtrace",
            "interrupted",
            "reasons",
            "inputs",
            "outcomes",
            "connections",
            "request_servers",
            "more",
        ),
        *("lookups", "neighbours", "protocols"),
    ]
