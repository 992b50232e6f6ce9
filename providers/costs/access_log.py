"""Reads server access logs as S3 writes them: a line for each request, many small files, in no strict order.

Each becomes an access of a trace. Only what was done counts; what is no access of an object, and what failed, is left
out and counted. All lines are held at once, since they have to be sorted. The format is that of "Amazon S3 Server
Access Log Format" (its documentation); later fields than the size of the object are not needed, and may be any.
"""

import calendar
import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from vmtrace.formats.packed import opened

_LINE = re.compile(
    r"\S+ (?P<bucket>\S+) \[(?P<time>[^\]]+)\] (?P<address>\S+) \S+ \S+ (?P<operation>\S+) (?P<key>\S+)"
    r' (?:"[^"]*"|-) (?P<status>\d{3}|-) \S+ (?P<sent>\d+|-) (?P<size>\d+|-)(?: |$)'
)
_TIME = re.compile(r"(\d{2})/([A-Z][a-z]{2})/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})")
_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_PRIVATE = [ipaddress.ip_network(one) for one in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")]
_LONGEST_LINE = 1 << 20
_PROGRESS_LINES = 10_000
INSIDE = "a private address"
"""The place of who asked by a way within the region: an endpoint of a private network."""


class _Kind(NamedTuple):
    word: str
    """As in a trace."""
    whole: bool
    """It is about as many bytes as the object has, not as many as were sent."""


_KINDS = {
    "REST.GET.OBJECT": _Kind("read", whole=False),
    "WEBSITE.GET.OBJECT": _Kind("read", whole=False),
    "REST.HEAD.OBJECT": _Kind("head", whole=False),
    "REST.PUT.OBJECT": _Kind("write", whole=True),
    "REST.POST.OBJECT": _Kind("write", whole=True),
    "REST.COPY.OBJECT": _Kind("copy", whole=True),
    # The object is there, and has its size, when its parts are put together; they cost requests like those of lists.
    "REST.POST.UPLOAD": _Kind("write", whole=True),
    "REST.POST.UPLOADS": _Kind("list", whole=False),
    "REST.PUT.PART": _Kind("list", whole=False),
    "REST.COPY.PART": _Kind("list", whole=False),
    "REST.GET.BUCKET": _Kind("list", whole=False),
    "REST.GET.BUCKETVERSIONS": _Kind("list", whole=False),
    "REST.DELETE.OBJECT": _Kind("delete", whole=False),
    "BATCH.DELETE.OBJECT": _Kind("delete", whole=False),
    "S3.EXPIRE.OBJECT": _Kind("delete", whole=False),
}


class AccessLog:
    """The files of a log: one, or all of a folder."""

    def __init__(self, path: Path, progress: Callable[[int], None]) -> None:
        self._path, self._progress = path, progress
        self._done_bytes = 0
        self.left_out: Counter[str] = Counter()
        """Lines by why they are no access: `unreadable`, `failed`, or their operation."""

    def batch(self) -> pa.RecordBatch:
        """All accesses, by time; raises `OSError`."""
        columns: dict[str, list[object]] = {name: [] for name in ("time", "object", "bytes", "operation", "place")}
        for path in files_of(self._path):
            with opened(path) as file:
                for number, line in enumerate(_lines(file), 1):
                    self._on_line(line, columns)
                    if number % _PROGRESS_LINES == 0:
                        self._progress(self._done_bytes + min(file.tell(), path.stat().st_size))
            self._done_bytes += path.stat().st_size
            self._progress(self._done_bytes)
        found = pa.RecordBatch.from_pydict(columns, schema=_SCHEMA)
        return found.sort_by("time")

    def notes(self) -> list[str]:
        """What was left out, in words."""
        others = sum(count for why, count in self.left_out.items() if why not in {"unreadable", "failed"})
        parts = [
            (self.left_out["failed"], "failed"),
            (others, "about no object's content"),
            (self.left_out["unreadable"], "of another format"),
        ]
        said = [f"{count:,} {what}" for count, what in parts if count]
        return [f"lines of the access log that were left out: {', '.join(said)}"] if said else []

    def _on_line(self, line: str, columns: dict[str, list[object]]) -> None:
        found = _LINE.match(line)
        time_s = _time_s(found["time"]) if found is not None else None
        if found is None or time_s is None:
            self.left_out["unreadable"] += 1
            return
        kind = _KINDS.get(found["operation"])
        if kind is None:
            self.left_out[found["operation"]] += 1
            return
        if found["status"] != "-" and not found["status"].startswith(("2", "304")):
            self.left_out["failed"] += 1
            return
        text = found["size"] if kind.whole else "-" if kind.word in {"list", "delete", "head"} else found["sent"]
        columns["time"].append(time_s)
        columns["object"].append(f"{found['bucket']}/{found['key']}")
        columns["bytes"].append(0 if text == "-" else int(text))
        columns["operation"].append(kind.word)
        columns["place"].append(INSIDE if _is_private(found["address"]) else found["address"])


_SCHEMA = pa.schema(
    [
        ("time", pa.float64()),
        ("object", pa.string()),
        ("bytes", pa.int64()),
        ("operation", pa.string()),
        ("place", pa.string()),
    ]
)


def is_access_log(path: Path) -> bool:
    """By the first line of a file, or of the first file of a folder; raises `OSError`."""
    files = files_of(path)
    if not files:
        return False
    with opened(files[0]) as file:
        return _LINE.match(next(_lines(file), "")) is not None


def files_of(path: Path) -> list[Path]:
    """The file, or the files in and below the folder."""
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def _lines(file: BinaryIO) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        if line.strip():
            yield line.decode("utf-8", "replace").rstrip("\r\n")


@lru_cache(maxsize=4096)
def _time_s(text: str) -> float | None:
    """Of `06/Feb/2019:00:00:38 +0000`, Unix seconds; None: it is no such time."""
    found = _TIME.fullmatch(text)
    if found is None or found[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(found[place]) for place in (1, 3, 4, 5, 6))
    try:
        utc = calendar.timegm((year, _MONTHS[found[2]], day, hour, minute, second))
    except (ValueError, OverflowError):
        return None
    away_s = 3600 * int(found[8]) + 60 * int(found[9])
    return float(utc - away_s if found[7] == "+" else utc + away_s)


@lru_cache(maxsize=4096)
def _is_private(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in _PRIVATE if network.version == address.version)
