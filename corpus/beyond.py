"""The task between buckets and tables: what is no TCP, of all runs in order, beside the connections of all buckets.

Names, datagram flows, echoes and neighbours go on from run to run. They are few beside TCP, or quick to read: one task
takes them, by the engine's code of any capture. Frames without TCP lie in a slice behind those of the buckets.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from vmtrace.analyze import _engine
from vmtrace.analyze.trace import version
from vmtrace.corpus.buckets import OUTLINES, key_log_of, names_of, part_name
from vmtrace.corpus.engine import Record, document, parsed, rows, written
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import PARTS, Folder, folder
from vmtrace.corpus.joining import checked
from vmtrace.corpus.merging import BEYOND_TCP
from vmtrace.corpus.splitting import Manifest, manifests

RECORD = f"{PARTS}/beyond.json"


@dataclass(frozen=True, slots=True)
class BeyondTask:
    """What is no TCP, to be read from the slices of these runs."""

    split: str
    out: str
    buckets: int
    endpoint_url: str | None = None
    manifest_names: tuple[str, ...] = ()


def read_beyond(task: BeyondTask, progress: Callable[[int], object] | None = None) -> str:
    """Do a task, unless it is done; the name of its record. Raises `CorpusError`, `OSError` and `TraceError`."""
    out = folder(task.out, task.endpoint_url)
    ordered = checked(manifests(task.split, task.endpoint_url, task.manifest_names))
    of = [*(one.key for one in ordered), task.buckets]
    done = out.get(RECORD)
    if done is not None and parsed(done)["of"] == of:
        return RECORD
    where = folder(task.split, task.endpoint_url)
    analysis = _engine.beyond(
        _slices(where, ordered), _outlined(out, task.buckets), key_log=key_log_of(ordered), progress=progress
    )
    _put_table(out, "echoes.parquet", pa.table(analysis.echoes()))
    said = parsed(document(analysis, ()))
    record = {
        "of": of,
        "vmtrace": version(),
        "document": {key: said[key] for key in said if key in BEYOND_TCP},
        "lookups": None if analysis.lookups_not_kept else rows(analysis.lookups()),
        "lookup_of": {str(number): place for number, place in analysis.lookups_of_connections().items()},
    }
    out.put(RECORD, written(record).encode())
    return RECORD


def size_bytes(runs: Sequence[Manifest], buckets: int) -> int:
    """What the task reads."""
    return sum(size for one in runs for _, size in one.slices.get(buckets, ()))


def record_of(out: Folder) -> Record:
    """What the task has left."""
    found = out.get(RECORD)
    if found is None:
        raise CorpusError(f"{out.url}: what is not TCP is missing; the same command makes it again")
    record: Record = parsed(found)
    return record


def _slices(where: Folder, ordered: Sequence[Manifest]) -> list[tuple[Any, int, list[int]]]:
    numbers = {name: number for number, name in enumerate(names_of(ordered))}
    return [
        ((where.engine_input(name, size), f"{where.url}/{name}"), 0, [numbers[name] for name in one.names])
        for one in ordered
        for name, size in one.slices.get(one.buckets, ())
    ]


def _outlined(out: Folder, buckets: int) -> list[tuple[bytes, bytes]]:
    return [
        (out.get(part_name(bucket, OUTLINES)) or b"", out.get(part_name(bucket, ".ids")) or b"")
        for bucket in range(buckets)
    ]


def _put_table(out: Folder, name: str, table: pa.Table) -> None:
    from pyarrow.parquet import write_table

    with tempfile.NamedTemporaryFile(prefix="vmtrace-") as file:
        write_table(table, file.name, compression="zstd")
        out.put(name, Path(file.name))
