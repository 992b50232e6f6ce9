"""The second task: the slices of one bucket, in the order of their runs, become connections.

What it leaves is what only this bucket knows: its connections as a table and as JSON lines, numbered within the bucket,
and a record of what has to be merged with other buckets, which is written last.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from vmtrace.analyze import _engine
from vmtrace.analyze.trace import version
from vmtrace.corpus.engine import document, header_of, parsed, rows, written
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import PARTS, Folder, LocalFolder, folder
from vmtrace.corpus.icmp import Given, errors_of
from vmtrace.corpus.joining import checked
from vmtrace.corpus.splitting import Manifest, manifests

_ROWS_AT_ONCE = 1 << 12
FEW_CONNECTIONS = 100
"""Up to so many the JSON document has the limits of each connection interval by interval."""
LINES, LINES_WITH_INTERVALS = ".document", "-intervals.document"
"""Each connection has a line of its own in it."""
OUTLINES = ".outlines"
"""What the task beyond TCP has to know of connections."""
SMALL_PARTS = (".orders", ".flows", ".servers")
"""The places of first packets; what is needed for limits and servers of all buckets."""
_ROOM_SHARE = 0.6
"""Of a worker's memory, for connections."""


def part_name(bucket: int, ending: str) -> str:
    """Where a part of what a bucket leaves lies."""
    return f"{PARTS}/{bucket:05}{ending}"


Shared = tuple[float, ...]
"""As the engine has it: a connection's place, side, factor, rate, and so on."""


@dataclass(frozen=True, slots=True)
class BucketTask:
    """A bucket to analyse."""

    split: str
    bucket: int
    out: str
    endpoint_url: str | None = None
    manifest_names: tuple[str, ...] | None = None
    """The runs that are meant; None for all that are there."""
    json: bool = False
    icmp: Given | None = None
    """The ICMP errors that concern a connection here though it has other addresses; None: not known yet."""
    shared: tuple[Shared, ...] | None = None
    """Limits that connections here share with those of other buckets; None: not known yet."""
    memory_bytes: int = 512 << 20

    @property
    def record_name(self) -> str:
        """What is written last."""
        return part_name(self.bucket, ".json")


def analyze_bucket(task: BucketTask, progress: Callable[[int], object] | None = None) -> str:
    """Do a task, unless it is done; the name of its record. Raises `CorpusError`, `OSError` and `TraceError`."""
    out = folder(task.out, task.endpoint_url)
    ordered = checked(manifests(task.split, task.endpoint_url, task.manifest_names))
    if not 0 <= task.bucket < ordered[0].buckets:
        raise CorpusError(f"--bucket: from 0 to {ordered[0].buckets - 1}, not {task.bucket}")
    of = [[one.key for one in ordered], task.json]
    done = out.get(task.record_name)
    if done is not None and _is_whole(out, parsed(done), of, task):
        return task.record_name
    analysis = _analysis(task, ordered, progress)
    names, fates = names_of(ordered), analysis.icmp_fates
    parts = _put_table(out, task.bucket, analysis)
    small = (analysis.orders(), *analysis.packed(), analysis.outlines())
    for ending, content in zip((*SMALL_PARTS, OUTLINES), small, strict=True):
        name = part_name(task.bucket, ending)
        out.put(name, content)
        parts[name] = len(content)
    if task.json:
        parts |= _put_lines(out, task.bucket, analysis, names)
    record = {
        "of": of,
        **_lists(task.icmp or Given()),
        "shared": list(map(list, task.shared or ())),
        "icmp": [place for place, (is_owned, *_) in enumerate(fates) if is_owned],
        "icmp_fit": {str(place): count for place, (_, count, _) in enumerate(fates) if count},
        "icmp_related": {str(place): count for place, (*_, count) in enumerate(fates) if count},
        "parts": parts,
        "vmtrace": version(),
        "connections": len(analysis),
        "header": header_of(analysis, names),
        "top": _top_level(analysis, names),
        "clock_steps": [list(step) for step in analysis.clock_steps],
        "lags": [[names[number], host.hex(), lag_ns] for number, host, lag_ns in analysis.lags],
        "syns": rows(analysis.syns()),
        "lookups": rows(analysis.lookups()),
    }
    out.put(task.record_name, written(record).encode())
    return task.record_name


def _is_whole(out: Folder, record: dict[str, Any], of: list[Any], task: BucketTask) -> bool:
    is_same = record["of"] == of and is_as_asked(record, task.icmp, task.shared)
    return bool(is_same) and all(out.holds(name, size) for name, size in record["parts"].items())


def _lists(icmp: Given) -> dict[str, list[int]]:
    return {"translated": list(icmp.translated), "related": list(icmp.related)}


def is_as_asked(record: dict[str, Any], icmp: Given | None, shared: tuple[Shared, ...] | None) -> bool:
    """What other buckets have shown was known when the bucket was analysed."""
    is_same = icmp is None or _lists(icmp).items() <= record.items()
    return is_same and (shared is None or record["shared"] == list(map(list, shared)))


def names_of(ordered: Sequence[Manifest]) -> list[str]:
    """All captures, in the order of their numbers."""
    return sorted(name for one in ordered for name in one.names)


def key_log_of(ordered: Sequence[Manifest]) -> bytes:
    """Secrets that the captures hold themselves."""
    return b"\n".join(one.key_log for one in ordered)


def _analysis(
    task: BucketTask, ordered: Sequence[Manifest], progress: Callable[[int], object] | None
) -> _engine.Analysis:
    where = folder(task.split, task.endpoint_url)
    numbers = {name: number for number, name in enumerate(names_of(ordered))}
    slices: list[tuple[Any, int, list[int]]] = []
    before = 0
    for one in ordered:
        inputs = [numbers[name] for name in one.names]
        for name, size in one.slices.get(task.bucket, ()):
            slices.append(((where.engine_input(name, size), f"{where.url}/{name}"), before, inputs))
        before += one.packets
    headers = [header for one in ordered for header in one.header]
    timeless = all(header["packets"] == header["capture"]["packets_without_time"] for header in headers)
    room = int(task.memory_bytes * _ROOM_SHARE)
    end_ns = max((one.end_ns for one in ordered if one.end_ns is not None), default=None)
    return _engine.analyze_slices(
        slices,
        inputs=len(numbers),
        timeless=timeless,
        end_ns=end_ns,
        room_bytes=room,
        icmp_errors=errors_of(ordered),
        translated=task.icmp.translated if task.icmp else (),
        related=task.icmp.related if task.icmp else (),
        shared=None if ordered[0].buckets == 1 else task.shared or (),
        key_log=key_log_of(ordered),
        progress=progress,
    )


def _top_level(analysis: _engine.Analysis, names: Sequence[str]) -> dict[str, Any]:
    """What stands beside inputs and connections in the document."""
    whole = parsed(document(analysis, names))
    return {key: value for key, value in whole.items() if key not in {"inputs", "connections"}}


def _put_table(out: Folder, bucket: int, analysis: _engine.Analysis) -> dict[str, int]:
    """The connection table, quick to write and to read: the merged one is written from it. Its name and size."""
    name = part_name(bucket, ".arrow")
    with tempfile.NamedTemporaryFile(prefix="vmtrace-") as file:
        writer = None
        for first in range(0, max(len(analysis), 1), _ROWS_AT_ONCE):
            some = list(range(first, min(first + _ROWS_AT_ONCE, len(analysis))))
            piece = pa.table(analysis.connections(rows=some))
            if writer is None:
                # On a disk of this machine packing would cost more than it saves.
                options = pa.ipc.IpcWriteOptions(compression=None if isinstance(out, LocalFolder) else "lz4")
                writer = pa.ipc.new_stream(file, piece.schema, options=options)
            writer.write_table(piece)
        if writer is not None:
            writer.close()
        file.flush()
        out.put(name, Path(file.name))
        return {name: file.tell()}


def _put_lines(out: Folder, bucket: int, analysis: _engine.Analysis, names: Sequence[str]) -> dict[str, int]:
    """The JSON document of a bucket; of few connections also with the limits of each interval. Names and sizes."""
    sizes = {}
    for ending, intervals in ((LINES, False), (LINES_WITH_INTERVALS, True)):
        if intervals and len(analysis) > FEW_CONNECTIONS:
            continue
        name = part_name(bucket, ending)
        with tempfile.NamedTemporaryFile(prefix="vmtrace-", buffering=0) as file:
            # Straight to the file: of many connections it is far larger than all that is known of them in memory.
            analysis.write_json(file.write, vmtrace_version=version(), input_paths=names, with_intervals=intervals)
            out.put(name, Path(file.name))
            sizes[name] = file.tell()
    return sizes


def json_value(text: bytes) -> bytes:
    """The JSON value that a text begins with."""
    string = text.decode()
    _, end = json.JSONDecoder().raw_decode(string)
    return string[:end].encode()
