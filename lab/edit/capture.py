"""A capture in memory: records of a pcap file with their numbers, read and written.

Apart from `lab/pcap_file.py`, which decodes packets and throws the bytes away. Knows nothing of what is in a frame.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace

_GLOBAL = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_UNITS_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
_NANOSECOND_MAGIC = 0xA1B23C4D


@dataclass(frozen=True, slots=True)
class Frame:
    """One record: its number (from 1) in the clean capture, Unix nanoseconds, bytes on the wire, bytes captured."""

    number: int
    time_ns: int
    wire_bytes: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Capture:
    """Frames in the order of the file; `snap_length` and `link_type` as in the pcap header."""

    link_type: int
    snap_length: int
    frames: tuple[Frame, ...]

    def with_frames(self, frames: Iterable[Frame]) -> Capture:
        """The same capture with other frames."""
        return replace(self, frames=tuple(frames))


def parse_capture(content: bytes) -> Capture:
    """Reads a little-endian pcap file, microseconds or nanoseconds; `ValueError` if it is none or torn."""
    if len(content) < _GLOBAL.size:
        raise ValueError("the pcap header is torn")
    magic, _, _, _, _, snap_length, link_type = _GLOBAL.unpack_from(content)
    if magic not in _UNITS_NS:
        raise ValueError(f"not a little-endian pcap file: magic {magic:#x}")
    frames: list[Frame] = []
    at = _GLOBAL.size
    while at < len(content):
        if at + _RECORD.size > len(content):
            raise ValueError(f"record {len(frames) + 1} is torn")
        seconds, fraction, captured, wire_bytes = _RECORD.unpack_from(content, at)
        at += _RECORD.size
        if at + captured > len(content):
            raise ValueError(f"record {len(frames) + 1} is torn")
        time_ns = seconds * 1_000_000_000 + fraction * _UNITS_NS[magic]
        frames.append(Frame(len(frames) + 1, time_ns, wire_bytes, content[at : at + captured]))
        at += captured
    return Capture(link_type, snap_length, tuple(frames))


def pcap_bytes(capture: Capture) -> bytes:
    """The capture as a pcap file with nanoseconds."""
    parts = [_GLOBAL.pack(_NANOSECOND_MAGIC, 2, 4, 0, 0, capture.snap_length, capture.link_type)]
    for frame in capture.frames:
        seconds, fraction = divmod(frame.time_ns, 1_000_000_000)
        parts += [_RECORD.pack(seconds, fraction, len(frame.content), frame.wire_bytes), frame.content]
    return b"".join(parts)
