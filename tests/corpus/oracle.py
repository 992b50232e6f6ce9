"""One process is the oracle: what it says of captures, and how the results of a run over the same are compared."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.trace import Options, Trace, read
from vmtrace.corpus import inputs
from vmtrace.corpus.running import Done, Run, Settings
from vmtrace.corpus.workers import ThisProcess, Workers


class Quiet:
    """A display that keeps the names of stages."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []

    def stage(self, name: str, total_bytes: int) -> None:
        self.stages.append((name, total_bytes))

    def done(self, bytes_read: int) -> None:
        self.stages.append(("done", bytes_read))


def settings(out: Path | str, buckets: int | None, **more: Any) -> Settings:
    values = {"endpoint_url": None, "memory_bytes": 256 << 20, "json": True, "keep_slices": False} | more
    return Settings(out=str(out), buckets=buckets, **values)


def run(names: list[str], out: Path | str, buckets: int | None, workers: Workers | None = None, **more: Any) -> Done:
    found = inputs.find(names, more.get("endpoint_url"))
    return Run(settings(out, buckets, **more), workers or ThisProcess(), Quiet()).of(found)


def one_process(names: list[str], filter_: str | None = None) -> Trace:
    return read(*sorted(names), options=Options(grouping=Grouping.MERGE, threads=1, filter=filter_))


def document(trace: Trace) -> bytes:
    """What a corpus has to say, too."""
    out = io.BytesIO()
    trace.write_json(out.write)
    return out.getvalue()


def plain(table: pa.Table) -> pa.Table:
    """Texts as texts, whatever names their categories have."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields)).replace_schema_metadata(None).combine_chunks()


def connections(out: Path) -> pa.Table:
    parts = [pq.read_table(path) for path in sorted((out / "connections").glob("*.parquet"))]
    return plain(pa.concat_tables([plain(part) for part in parts]).sort_by("id"))


def assert_same(out: Path, names: list[str], trace: Trace | None = None) -> Trace:
    """The results are those of one process: document byte by byte, tables value by value."""
    trace = trace or one_process(names)
    found, expected = (out / "analysis.json").read_bytes(), document(trace)
    if found != expected:
        first, second = json.loads(found), json.loads(expected)
        assert first["inputs"] == second["inputs"]
        assert len(first["connections"]) == len(second["connections"])
        assert first["connections"] == second["connections"]
        assert first == second
    assert found == expected
    assert connections(out).equals(plain(pa.table(trace.connections)))
    assert plain(pq.read_table(out / "syns.parquet")).equals(plain(pa.table(trace.syns)))
    assert plain(pq.read_table(out / "echoes.parquet")).equals(plain(pa.table(trace.echoes)))
    assert plain(pq.read_table(out / "lookups.parquet")).equals(plain(pa.table(trace.lookups)))
    return trace
