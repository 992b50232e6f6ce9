"""A capture of a campaign with the packets of its slowest requests alone; the numbers of all are written down before.

Of every size and direction the slowest share of the requests that began while the capture ran is kept, one at least,
with all packets of the connections that they used. The file is written aside and renamed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from vmtrace.analyze.reports.storage.packet_facts import connections_of, facts_path, write_facts
from vmtrace.analyze.reports.storage.requests import Requests, read_requests

_MAGICS = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\x4d\x3c\xb2\xa1": ("<", 1)}
"""Of the files that our recorder writes on these machines: byte order, and nanoseconds of a unit."""
_ETHERNET, _RAW, _SLL, _SLL2, _NULL = 1, 101, 113, 276, 0
_LINK_BYTES = {_ETHERNET: 14, _RAW: 0, _SLL: 16, _SLL2: 20, _NULL: 4}
_LARGEST_PACKET_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of a capture."""

    packets: int
    of: int


def thin(folder: Path, capture: Path, share: float) -> Kept:
    """Thin one capture; raises `ValueError`, `OSError` and leaves it alone where it cannot."""
    problems: list[str] = []
    requests = read_requests(folder, problems)
    if requests is None:
        raise ValueError(f"{folder}: no log of requests: nothing says which packets are of the slowest")
    found = connections_of(capture)
    begin_ns = min((one.start_ns for one in found), default=0)
    ports = _ports_of_slowest(requests, share, begin_ns, max((one.end_ns for one in found), default=0))
    write_facts(capture, found)
    try:
        return _rewritten(capture, ports)
    except BaseException:
        facts_path(capture).unlink(missing_ok=True)  # it is whole: its packets say it all
        raise


def _ports_of_slowest(requests: Requests, share: float, begin_ns: int, end_ns: int) -> frozenset[int]:
    within = (requests.start_ns <= end_ns) & (requests.start_ns + requests.duration_s * 1e9 >= begin_ns)
    ports: set[int] = set()
    for _, _, there in requests.kinds():
        places = np.flatnonzero(there & within)
        if not len(places):
            continue
        count = max(1, round(share * len(places))) if share else 0
        slowest = places[np.argsort(-requests.duration_s[places], kind="stable")[:count]]
        ports |= set(requests.local_port[slowest].tolist())
    return frozenset(ports - {0})


def _rewritten(capture: Path, ports: frozenset[int]) -> Kept:
    aside = capture.with_name(f".{capture.name}.part")
    try:
        kept = _filtered(capture, aside, ports)
        aside.replace(capture)
    finally:
        aside.unlink(missing_ok=True)
    return kept


def _filtered(capture: Path, aside: Path, ports: frozenset[int]) -> Kept:
    kept = total = 0
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with capture.open("rb") as file, os.fdopen(descriptor, "wb") as out:
        head = file.read(24)
        if head[:4] not in _MAGICS or len(head) < 24:
            raise ValueError(f"{capture}: not a capture of this machine's recorder")
        order, _ = _MAGICS[head[:4]]
        link = struct.unpack(f"{order}I", head[20:24])[0] & 0xFFFF
        if link not in _LINK_BYTES:
            raise ValueError(f"{capture}: link type {link} cannot be thinned")
        out.write(head)
        for record, data in _records(file, order):
            total += 1
            if ports & _ports_of(data, link):
                kept += 1
                out.write(record + data)
    return Kept(kept, total)


def _records(file: BinaryIO, order: str) -> Iterator[tuple[bytes, bytes]]:
    while len(head := file.read(16)) == 16:
        length = struct.unpack(f"{order}I", head[8:12])[0]
        if length > _LARGEST_PACKET_BYTES:
            raise ValueError(f"{file.name}: damaged: a packet of {length} bytes")
        data = file.read(length)
        if len(data) < length:
            return
        yield head, data


def _ports_of(data: bytes, link: int) -> set[int]:
    """Source and destination of a TCP segment; none of anything else, and of later fragments."""
    place = _LINK_BYTES[link]
    if link == _ETHERNET:
        while data[place - 2 : place] in {b"\x81\x00", b"\x88\xa8"}:
            place += 4
    if len(data) <= place:
        return set()
    version = data[place] >> 4
    if version == 4 and len(data) > place + 9 and data[place + 9] == 6:
        start = place + 4 * (data[place] & 15)
    elif version == 6 and len(data) > place + 6 and data[place + 6] == 6:
        start = place + 40
    else:
        return set()
    if len(data) < start + 4:
        return set()
    return set(struct.unpack(">HH", data[start : start + 4]))
