"""One process is the oracle: what it says of captures, and how the results of a run over the same are compared."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.trace import Options, Trace, read
from vmtrace.corpus import inputs
from vmtrace.corpus.running import Done, Run, Settings
from vmtrace.corpus.splitting import OF_FRAMES
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
    """What a corpus says, too: all but names, flows and tunnels, which stand behind the connections."""
    out = io.BytesIO()
    trace.write_json(out.write)
    of_tcp, mark, _ = out.getvalue().rpartition(b',"lookups":[')
    assert mark
    of_frames = json.dumps({key: trace.json()[key] for key in OF_FRAMES[::-1]}, separators=(",", ":")).encode()
    return without_lookup(of_tcp + b"," + of_frames[1:] + b"\n")


BESIDE_TCP = {kind for kind in KINDS if kind.startswith(("dns_", "udp_", "quic_", "icmp_", "neighbour", "tunnel"))}
"""Kinds of findings that a corpus has no records for."""


def without_lookup(document: bytes) -> bytes:
    """Names that connections waited for, and the tunnels of frames, have no place in a corpus."""
    return re.sub(rb',"lookup":(?:null|\d+)|,"unread_tunnels":\[.*?\](?=[,}])', b"", document)


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
    whole, expected = (out / "analysis.json").read_bytes(), document(trace)
    of_tcp, _, findings = whole.rpartition(b',"findings":')
    found = without_lookup(of_tcp + b"}\n")
    if not BESIDE_TCP & {one["kind"] for one in trace.json()["findings"]}:
        assert json.loads(findings.strip()[:-1]) == trace.json()["findings"]
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
