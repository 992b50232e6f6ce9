"""The first task: a run of captures, read once, becomes slices by the hash of the address pair, and a manifest of them.

The manifest is written last, under a name that follows from what was split and how. A task that finds it has nothing
to do; two that work at the same time write the same bytes.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vmtrace.analyze import _engine
from vmtrace.analyze.read.capture_version import Version
from vmtrace.analyze.read.filter import compiler
from vmtrace.analyze.read.index_file import Index, as_bytes, name_in_folder
from vmtrace.analyze.trace import version
from vmtrace.corpus.engine import document, parsed, rows, written
from vmtrace.corpus.folder import Folder, Slices, folder
from vmtrace.corpus.inputs import Input, check_unchanged

FORMAT = 5
MANIFESTS = "split"
SLICES = "slices"
INDEXES = "indexes"
_ROOM_SHARE = 8
"""Of a worker's memory, for slices that grow."""


@dataclass(frozen=True, slots=True)
class SplitTask:
    """A run of captures to split."""

    inputs: tuple[Input, ...]
    buckets: int
    to: str
    endpoint_url: str | None = None
    lags: tuple[tuple[str, str, int], ...] = ()
    """Hosts that were recorded late: name of the capture, address in hexadecimal digits, nanoseconds."""
    memory_bytes: int = 512 << 20
    filter: str | None = None

    @property
    def key(self) -> str:
        """The same for the same task, whoever does it."""
        inputs = [(one.name, one.size_bytes, one.version) for one in self.inputs]
        what = [FORMAT, version(), self.buckets, inputs, self.lags, self.filter]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:20]

    @property
    def manifest_name(self) -> str:
        """Where its manifest lies."""
        return _manifest_name(self.key)

    @property
    def input_bytes(self) -> int:
        """What it reads."""
        return sum(one.size_bytes for one in self.inputs)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run of captures gave."""

    key: str
    buckets: int
    names: tuple[str, ...]
    header: tuple[dict[str, Any], ...]
    packets: int
    fragments: int
    open_datagrams: int
    slices: Slices
    """Behind those of the buckets the one of frames without TCP."""
    lookups: tuple[dict[str, Any], ...]
    problems: tuple[str, ...]
    icmp_errors: tuple[list[Any], ...] = ()
    """Each as the engine has it, addresses as texts."""
    protocols: tuple[dict[str, Any], ...] = ()
    key_log: bytes = b""
    """Secrets that the captures hold."""

    @property
    def name(self) -> str:
        """Where it lies."""
        return _manifest_name(self.key)

    @property
    def start_ns(self) -> int | None:
        """Its earliest frame."""
        return min((one["start_ns"] for one in self.header if one["start_ns"] is not None), default=None)

    @property
    def end_ns(self) -> int | None:
        """Its latest frame."""
        return max((one["end_ns"] for one in self.header if one["end_ns"] is not None), default=None)

    @property
    def has_frames_without_time(self) -> bool:
        """Some frames take the time of the one before."""
        return any(one["capture"]["packets_without_time"] for one in self.header)

    @property
    def slice_bytes(self) -> int:
        """Of all its slices."""
        return sum(size for pieces in self.slices.values() for _, size in pieces)


def split(task: SplitTask, progress: Callable[[int], object] | None = None) -> str:
    """Do a task, unless it is done; the name of its manifest. Raises `OSError` and `TraceError`."""
    target = folder(task.to, task.endpoint_url)
    if _is_done(target, task.manifest_name):
        return task.manifest_name
    check_unchanged(task.inputs)
    writer = target.slices(f"{SLICES}/{task.key}")
    numbers = {one.name: number for number, one in enumerate(task.inputs)}
    analysis, packets, fragments, open_datagrams, icmp_errors, indexes = _engine.split(
        [(one.engine_input, one.name) for one in task.inputs],
        writer.write,
        buckets=task.buckets,
        room_bytes=max(1 << 20, task.memory_bytes // _ROOM_SHARE),
        lags=[(numbers[name], bytes.fromhex(host), lag_ns) for name, host, lag_ns in task.lags if name in numbers],
        compile_filter=compiler(task.filter),
        progress=progress,
    )
    check_unchanged(task.inputs)
    _check_whole(analysis.errors)
    names = [one.name for one in task.inputs]
    said = parsed(document(analysis, names))
    content = {
        "format": FORMAT,
        "vmtrace": version(),
        "key": task.key,
        "buckets": task.buckets,
        "names": names,
        "header": said["inputs"],
        "packets": packets,
        "fragments": fragments,
        "open_datagrams": open_datagrams,
        "slices": {str(bucket): [list(piece) for piece in pieces] for bucket, pieces in writer.finish().items()},
        "lookups": rows(analysis.lookups()),
        "icmp_errors": [list(map(_plain, error)) for error in icmp_errors],
        "protocols": said["protocols"],
        "key_log": analysis.key_log.hex(),
        "problems": [str(error) for error in analysis.errors],
    }
    _put_indexes(target, task, indexes)
    target.put(task.manifest_name, written(content).encode())
    return task.manifest_name


def _check_whole(errors: Sequence[Exception]) -> None:
    """Raises what kept a capture from being read: another time it may be. Damage stays, and is reported."""
    for error in errors:
        if isinstance(error, OSError):
            raise error


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else str(value)


def _put_indexes(target: Folder, task: SplitTask, indexes: Sequence[tuple[str | None, int, bytes]]) -> None:
    """The index of each capture, for those who want packets of a few connections later."""
    for one, (obstacle, packets, packed) in zip(task.inputs, indexes, strict=True):
        if obstacle is None and not task.lags and task.filter is None:
            index = Index(Version(one.size_bytes, one.version), packets, obstacle, packed)
            target.put(f"{INDEXES}/{name_in_folder(one.name)}", as_bytes(index, one.name))


def _manifest_name(key: str) -> str:
    return f"{MANIFESTS}/{key}.json"


def _is_done(target: Folder, name: str) -> bool:
    content = target.get(name)
    if content is None:
        return False
    pieces = [piece for slice_ in manifest_of(content).slices.values() for piece in slice_]
    if all(target.holds(*piece) for piece in pieces):
        return True
    target.remove(pieces[0][0].rpartition("/")[0])
    return False


def manifest_of(content: bytes) -> Manifest:
    """A manifest as it was written."""
    record = parsed(content)
    return Manifest(
        key=record["key"],
        buckets=record["buckets"],
        names=tuple(record["names"]),
        header=tuple(record["header"]),
        packets=record["packets"],
        fragments=record["fragments"],
        open_datagrams=record["open_datagrams"],
        slices={int(bucket): [(name, size) for name, size in pieces] for bucket, pieces in record["slices"].items()},
        lookups=tuple(record["lookups"]),
        problems=tuple(record["problems"]),
        icmp_errors=tuple(record["icmp_errors"]),
        protocols=tuple(record["protocols"]),
        key_log=bytes.fromhex(record["key_log"]),
    )


def manifests(url: str, endpoint_url: str | None, names: Sequence[str] | None = None) -> list[Manifest]:
    """The manifests of a folder, all or those named."""
    where = folder(url, endpoint_url)
    found = [where.get(name) for name in (where.names(MANIFESTS) if names is None else names)]
    return [manifest_of(content) for content in found if content is not None]
