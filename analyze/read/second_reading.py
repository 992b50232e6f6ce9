"""Which stretches of captures a second reading needs: those that their indexes name, if all of them can be relied on.

Packets keep the numbers that they have among all. So captures that are read as one must follow each other in time, each
with an index, and nothing may have been put into another order. Everything else is read from the beginning.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from vmtrace.analyze.read.capture_version import Version
from vmtrace.analyze.read.index_file import Index, IndexFileError, Part, load
from vmtrace.analyze.read.sources import Opened
from vmtrace.analyze.read.stores.remote import RemoteObject

_MOST_SHARE = 0.9
"""Of a capture: to read more of it in stretches saves nothing."""

Stretches = list[tuple[Any, int, int, list[Part]]]
"""For each capture what the engine opens, its number, the TCP packets of all before it, and its stretches."""


def stretches_of(
    inputs: Mapping[int, tuple[Opened, Version | None]],
    headers: Sequence[Mapping[str, Any]],
    flows: Collection[int],
    problems: list[str],
    indexes: str | None = None,
) -> Stretches | None:
    """The stretches of these inputs (by their numbers) that hold the flows; None to read all of them.

    Why an index was not used is added to `problems`. `indexes` is a folder that holds some.
    """
    ordered = sorted(inputs, key=lambda number: (headers[number]["start_ns"] or 0, number))
    if not _stand_apart([headers[number] for number in ordered], ordered):
        return None
    found: Stretches = []
    before, read_bytes, all_bytes = 0, 0, 0
    for number in ordered:
        opened, version = inputs[number]
        index = _index(opened, version, problems, indexes)
        if version is None or index is None or index.obstacle or index.packets != headers[number]["tcp_packets"]:
            return None
        parts = index.parts(flows)
        found.append(((opened.data, opened.name), number, before, parts))
        before += index.packets
        read_bytes += sum(length for _, length, *_ in parts)
        all_bytes += version.size_bytes
    return found if read_bytes <= _MOST_SHARE * all_bytes else None


def _stand_apart(headers: Sequence[Mapping[str, Any]], numbers: Sequence[int]) -> bool:
    """Each is over before the next one begins, and none was corrected."""
    if any("lag_s" in header["capture"] or "clock_offset_s" in header["capture"] for header in headers):
        return False
    last: tuple[int, int] | None = None
    for header, number in zip(headers, numbers, strict=True):
        if header["start_ns"] is None or (last is not None and last > (header["start_ns"], number)):
            return False
        last = (header["end_ns"], number)
    return True


def _index(opened: Opened, version: Version | None, problems: list[str], indexes: str | None) -> Index | None:
    name = opened.data.url if isinstance(opened.data, RemoteObject) else opened.file
    if name is None or version is None:
        return None
    try:
        return load(name, version, indexes)
    except (IndexFileError, OSError) as error:
        if str(error) not in problems:
            problems.append(str(error))
        return None
