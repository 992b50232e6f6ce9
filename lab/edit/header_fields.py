"""Header fields that hosts and routers are free to choose, chosen otherwise. Checksums are left as they were.

None of these is a fault: what an analyzer concludes may need them, but must not depend on their values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from vmtrace.lab.edit.capture import Capture, Frame
from vmtrace.lab.edit.segment import ACK, OPTION_SACK, OPTION_TIMESTAMPS, SYN, Segment, segment_of
from vmtrace.lab.edit.truth import Truth

_MODULUS = 1 << 32
_NOP = 1
_Direction = tuple[tuple[bytes, int], tuple[bytes, int]]
_Rewrite = Callable[[Frame, Segment], Frame]


@dataclass(frozen=True, slots=True)
class WrapSequence:
    """Sequence numbers of each direction shift so that they pass 2^32 behind so many bytes."""

    after_bytes: int

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`. Acknowledgements and SACK follow the direction that they speak of."""
        shifts: dict[_Direction, int] = {}
        for _frame, segment in _tcp_frames(capture):
            first = segment.seq + bool(segment.flags & SYN)
            shifts.setdefault((segment.source, segment.destination), (-first - self.after_bytes) % _MODULUS)
        return _rewritten(capture, lambda frame, segment: _shifted(frame, segment, shifts))


@dataclass(frozen=True, slots=True)
class FixIdentification:
    """Every IPv4 packet has the same identification."""

    identification: int = 0

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        return _rewritten(capture, lambda frame, segment: _identified(frame, segment, self.identification))


@dataclass(frozen=True, slots=True)
class RandomIdentification:
    """IPv4 packets have random identifications, never 0, as some stacks choose them."""

    def apply(self, capture: Capture, random: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        return _rewritten(capture, lambda frame, segment: _identified(frame, segment, random.randrange(1, 1 << 16)))


@dataclass(frozen=True, slots=True)
class NoTimestamps:
    """The timestamps option (RFC 7323) is overwritten with NOPs, as some firewalls do."""

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        return _rewritten(capture, _without_timestamps)


def _rewritten(capture: Capture, rewrite: _Rewrite) -> tuple[Capture, Truth]:
    frames, numbers = [], []
    for frame in capture.frames:
        segment = segment_of(frame, capture.link_type)
        changed = frame if segment is None else rewrite(frame, segment)
        frames.append(changed)
        if changed.content != frame.content:
            numbers.append(frame.number)
    return capture.with_frames(frames), Truth(rewritten=tuple(numbers))


def _tcp_frames(capture: Capture) -> Iterator[tuple[Frame, Segment]]:
    for frame in capture.frames:
        segment = segment_of(frame, capture.link_type)
        if segment is not None:
            yield frame, segment


def _shifted(frame: Frame, segment: Segment, shifts: dict[_Direction, int]) -> Frame:
    content = bytearray(frame.content)
    own = shifts[segment.source, segment.destination]
    peer = shifts.get((segment.destination, segment.source), 0)
    _add(content, segment.tcp_at + 4, own)
    if segment.flags & ACK:
        _add(content, segment.tcp_at + 8, peer)
    for kind, at, length in segment.options:
        if kind == OPTION_SACK:
            for edge in range(at + 2, at + length, 4):
                _add(content, edge, peer)
    return replace(frame, content=bytes(content))


def _add(content: bytearray, at: int, shift: int) -> None:
    (value,) = struct.unpack_from("!I", content, at)
    struct.pack_into("!I", content, at, (value + shift) % _MODULUS)


def _identified(frame: Frame, segment: Segment, identification: int) -> Frame:
    if segment.ip_version != 4:
        return frame
    content = bytearray(frame.content)
    struct.pack_into("!H", content, segment.ip_at + 4, identification)
    return replace(frame, content=bytes(content))


def _without_timestamps(frame: Frame, segment: Segment) -> Frame:
    content = bytearray(frame.content)
    for kind, at, length in segment.options:
        if kind == OPTION_TIMESTAMPS:
            content[at : at + length] = bytes([_NOP]) * length
    return replace(frame, content=bytes(content))
