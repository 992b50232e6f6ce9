"""The index of a capture: which stretches of it hold the packets of a flow. It lies beside the capture.

A reading that wants the packets of a few connections fetches only those stretches (`Trace.load_packets`). The first
line is JSON (format, capture, obstacle), the rest is packed. An index of another version of its capture is refused.

What has an index, and how it is used: docs/corpus.md.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from vmtrace.analyze.read.capture_files import INDEX_ENDING
from vmtrace.analyze.read.capture_version import Version, version_of
from vmtrace.analyze.read.stores import is_url
from vmtrace.analyze.read.stores.listing import ObjectUrl

SCHEMA = "vmtrace.index/1"
_STRETCH = struct.Struct("<QQIIB")
_LARGEST_BYTES = 1 << 30


class IndexFileError(OSError):
    """An index that is not used; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From one record to another; the next stretch begins where it ends."""

    offset: int
    packets_before: int
    frame: int
    is_needed: bool
    flows: frozenset[int]


Part = tuple[int, int, int, int]
"""Offset, length, number of its first frame, TCP packets of the capture before it."""


@dataclass(frozen=True)
class Index:
    """What is known of a capture. Without slots, since stretches are unpacked once, when they are asked for."""

    of: Version
    packets: int
    obstacle: str | None
    """Why the capture is read from its beginning all the same."""
    packed: bytes

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """In the order of their offsets."""
        return tuple(self._unpacked())

    def _unpacked(self) -> Iterator[Stretch]:
        at = 0
        while at < len(self.packed):
            offset, before, frame, count, needed = _STRETCH.unpack_from(self.packed, at)
            at += _STRETCH.size
            flows = frozenset(struct.unpack_from(f"<{count}I", self.packed, at))
            at += 4 * count
            yield Stretch(offset, before, frame, bool(needed), flows)

    def parts(self, flows: Collection[int]) -> list[Part]:
        """The stretches that hold these flows, and those that all need; neighbours are one."""
        wanted, found = set(flows), self.stretches
        ends = [later.offset for _, later in pairwise(found)] + [self.of.size_bytes]
        parts: list[Part] = []
        for stretch, end in zip(found, ends, strict=True):
            if not stretch.is_needed and wanted.isdisjoint(stretch.flows):
                continue
            if parts and parts[-1][0] + parts[-1][1] == stretch.offset:
                offset, _, frame, before = parts[-1]
                parts[-1] = (offset, end - offset, frame, before)
            else:
                parts.append((stretch.offset, end - stretch.offset, stretch.frame, stretch.packets_before))
        return parts


def as_bytes(index: Index, name: str) -> bytes:
    """The file's content."""
    from vmtrace.analyze import _engine

    head = {
        "schema": SCHEMA,
        "vmtrace": _engine.VERSION,
        "capture": name,
        "size_bytes": index.of.size_bytes,
        "state": index.of.state,
        "packets": index.packets,
        "obstacle": index.obstacle,
        "unpacked_bytes": len(index.packed),
    }
    return json.dumps(head).encode() + b"\n" + zlib.compress(index.packed, 6)


def parsed(content: bytes, name: str) -> Index:
    """An index as it was written. Raises `IndexFileError` for anything else."""
    line, _, rest = content.partition(b"\n")
    try:
        head: Any = json.loads(line)
        schema = head.get("schema") if isinstance(head, dict) else None
        if schema != SCHEMA:
            what = (
                f"its format is {schema}"
                if str(schema).startswith("vmtrace.index/")
                else "not an index made by vmtrace"
            )
            raise IndexFileError(f"{name}: {what}; make it again with vmtrace index")
        size = int(head["unpacked_bytes"])
        unpacker = zlib.decompressobj()
        packed = unpacker.decompress(rest, min(size, _LARGEST_BYTES) + 1)
        if len(packed) != size or not unpacker.eof:
            raise ValueError("another length")
        of = Version(int(head["size_bytes"]), str(head["state"]))
        index = Index(of, int(head["packets"]), head["obstacle"], packed)
        _check(index)
    except (ValueError, KeyError, TypeError, zlib.error, struct.error):
        raise IndexFileError(f"{name}: a damaged index; make it again with vmtrace index") from None
    return index


def _check(index: Index) -> None:
    """Raises `ValueError` unless all stretches lie in the capture, in order."""
    last = -1
    for stretch in index.stretches:
        if stretch.offset <= last or (last < 0 and stretch.offset):
            raise ValueError("out of order")
        last = stretch.offset
    if last >= index.of.size_bytes > 0:
        raise ValueError("behind the end")


def place_of(capture: str) -> str:
    """Where the index of a capture lies."""
    return f"{capture}{INDEX_ENDING}"


def name_in_folder(capture: str) -> str:
    """The name of its index in a folder of indexes: names of captures may be the same in several places."""
    place = capture if is_url(capture) else str(Path(capture).absolute())
    digest = hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:12]
    return f"{place.rpartition('/')[2]}.{digest}{INDEX_ENDING}"


def load(capture: str, as_measured: Version, indexes: str | None = None) -> Index | None:
    """The index beside a capture, else the one in a folder of `indexes`; None if there is none.

    Raises `IndexFileError` for one that is damaged or of another capture, `OSError` if it cannot be read.
    """
    places = [place_of(capture)] + ([] if indexes is None else [f"{indexes.rstrip('/')}/{name_in_folder(capture)}"])
    for place in places:
        content = _read(place, capture)
        if content is not None:
            return _checked(content, place, capture, as_measured)
    return None


def _checked(content: bytes, place: str, capture: str, as_measured: Version) -> Index:
    index = parsed(content, place)
    if index.of != as_measured:
        what = "size" if index.of.size_bytes != as_measured.size_bytes else "ETag" if is_url(capture) else "time"
        raise IndexFileError(
            f"{place}: the capture has another {what} now; the index is not used: make it again with vmtrace index"
        )
    return index


def _read(place: str, capture: str) -> bytes | None:
    try:
        if is_url(place):
            from vmtrace.analyze.read.stores.listing import head
            from vmtrace.analyze.read.stores.reader import get_range

            found = head(place, getattr(capture, "endpoint_url", None))
            return bytes(get_range(found, 0, found.size_bytes)) if found.size_bytes else b""
        return Path(place).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def made(capture: str, progress: Any = None) -> tuple[Index, list[Exception]]:
    """Read a capture and index it; what is wrong with it beside. Raises `OSError` and `TraceError`."""
    from vmtrace.analyze import _engine
    from vmtrace.analyze.read.stores.remote import RemoteObject

    before = version_of(capture)
    data = RemoteObject(capture) if isinstance(capture, ObjectUrl) else capture
    analysis, *_, indexes = _engine.split(
        [(data, str(capture))], lambda *_: None, buckets=0, room_bytes=1, progress=progress
    )
    if not isinstance(capture, ObjectUrl) and version_of(capture) != before:
        raise OSError(f"{capture}: it was changed while it was read: analyse a copy of it")
    [(obstacle, packets, packed)] = indexes
    return Index(before, packets, obstacle, packed), analysis.errors


def put(place: str, content: bytes, endpoint_url: str | None = None) -> None:
    """Write an index, whole or not at all. Raises `OSError`."""
    if is_url(place):
        from vmtrace.analyze.read.stores.upload import put as upload

        upload(place, content, endpoint_url)
        return
    from vmtrace.analyze.read.atomic import writing

    with writing(Path(place)) as out:
        out.write(content)
