"""Spacing, flight and unseen bytes computed a second time, plainly and slowly, from the packets of a capture.

Nothing here is shared with the engine: where both agree, both are right or wrong for different reasons. Meant for one
connection at a time, beside the sender of the data, without copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.segment import ACK, FIN, SYN, Segment, sack_blocks, segment_of

Address = tuple[bytes, int]
Way = tuple[Address, Address]
_HALF = 1 << 31
_DUPLICATE_THRESHOLD = 3  # RFC 6675 section 2


@dataclass(frozen=True, slots=True)
class Passed:
    """A segment that passed, with positions that count from the first byte of its direction and do not wrap."""

    time_ns: int
    segment: Segment
    start: int
    ack: int | None
    sack: list[tuple[int, int]]

    @property
    def end(self) -> int:
        return self.start + self.segment.payload_bytes


def passed(capture: Capture) -> Iterator[Passed]:
    first: dict[Way, int] = {}
    for frame in capture.frames:
        segment = segment_of(frame, capture.link_type)
        assert segment is not None
        own, peer = (segment.source, segment.destination), (segment.destination, segment.source)
        begin = (segment.seq + bool(segment.flags & SYN)) % (1 << 32)
        first.setdefault(own, begin)
        acked = None
        if segment.flags & ACK:
            acked = _signed(segment.ack - first.setdefault(peer, segment.ack))
        blocks = [
            (_signed(left - first[peer]), _signed(right - first[peer]))
            for left, right in sack_blocks(segment, frame.content)
        ]
        yield Passed(frame.time_ns, segment, _signed(begin - first[own]), acked, blocks)


def _signed(distance: int) -> int:
    return (distance + _HALF) % (1 << 32) - _HALF


def spacings_ns(capture: Capture, way: Way) -> list[int]:
    """Times between consecutive data frames from the first address to the second."""
    own = (each for each in passed(capture) if (each.segment.source, each.segment.destination) == way)
    times = [each.time_ns for each in own if each.segment.payload_bytes]
    return [after - before for before, after in pairwise(times)]


@dataclass(slots=True)
class _Sent:
    start: int
    end: int
    sacked: bool = False
    lost: bool = False
    again: bool = False


@dataclass(slots=True)
class Pipe:
    """The pipe of RFC 6675, byte for byte as section 4 says, from the packets that pass beside the sender."""

    mss: int
    una: int = 0
    high: int = 0
    out: list[_Sent] = field(default_factory=list)
    most: int = 0
    area: float = 0.0
    busy_ns: int = 0
    _now_ns: int | None = None
    _pipe: int = 0

    def at(self, time_ns: int) -> None:
        if self._now_ns is not None and self._pipe:
            self.area += self._pipe * (time_ns - self._now_ns)
            self.busy_ns += time_ns - self._now_ns
        self._now_ns = time_ns

    def sent(self, start: int, end: int) -> None:
        fresh = max(start, self.high)
        if start < self.high:
            self._split(start)
            self._split(end)
            for piece in self.out:
                if start <= piece.start < end:
                    piece.again = True
        if end > fresh:
            self.out.append(_Sent(fresh, end))
            self.high = end
        self._settle()

    def acknowledged(self, ack: int, sack: Iterable[tuple[int, int]]) -> None:
        for left, right in sack:
            if right > ack:
                self._split(left)
                self._split(right)
                for piece in self.out:
                    piece.sacked |= left <= piece.start < right
        if ack > self.una:
            self.una = ack
            self._split(ack)
            self.out = [piece for piece in self.out if piece.start >= ack]
        self._mark_lost()
        self._settle()

    def _split(self, at: int) -> None:
        for index, piece in enumerate(self.out):
            if piece.start < at < piece.end:
                right = _Sent(at, piece.end, piece.sacked, piece.lost, piece.again)
                piece.end = at
                self.out.insert(index + 1, right)
                return

    def _mark_lost(self) -> None:
        above = 0
        for piece in reversed(self.out):
            if piece.sacked:
                above += piece.end - piece.start
            elif above > (_DUPLICATE_THRESHOLD - 1) * self.mss:
                piece.lost = True

    def _settle(self) -> None:
        waiting = [piece for piece in self.out if not piece.sacked]
        self._pipe = sum((piece.end - piece.start) * (not piece.lost) for piece in waiting)
        self._pipe += sum((piece.end - piece.start) * (piece.lost and piece.again) for piece in waiting)
        self.most = max(self.most, self._pipe)

    @property
    def mean(self) -> float:
        return self.area / self.busy_ns


def pipe_of(capture: Capture, way: Way, mss: int) -> Pipe:
    """Follows the data from the first address to the second, beside the first."""
    pipe = Pipe(mss)
    for each in passed(capture):
        segment = each.segment
        if (segment.source, segment.destination) == way and segment.payload_bytes:
            pipe.at(each.time_ns)
            pipe.sent(each.start, each.end)
        elif (segment.destination, segment.source) == way and each.ack is not None and not segment.flags & SYN:
            pipe.at(each.time_ns)
            pipe.acknowledged(each.ack, each.sack)
    return pipe


def unseen_acknowledged_bytes(capture: Capture, clean: Capture) -> int:
    """Payload that is in frames of the clean capture, in none of this one, and acknowledged by one of this one."""
    highest: dict[Way, int] = defaultdict(int)
    for each in passed(capture):
        if each.ack is not None:
            peer = (each.segment.destination, each.segment.source)
            highest[peer] = max(highest[peer], each.ack)
    sent, seen = _payload(clean), _payload(capture)
    return sum(_bytes_below(highest[way], sent[way]) - _bytes_below(highest[way], seen[way]) for way in sent)


def hidden_ends(capture: Capture, clean: Capture) -> int:
    """FINs that are missing together with the FIN of the other direction: acknowledged, they look like a byte."""
    before, left = _closed(clean), _closed(capture)
    return sum(way not in left and (way[1], way[0]) not in left for way in before)


def _closed(capture: Capture) -> set[Way]:
    own = (each.segment for each in passed(capture))
    return {(segment.source, segment.destination) for segment in own if segment.flags & FIN}


def _payload(capture: Capture) -> dict[Way, list[tuple[int, int]]]:
    """Stretches of each direction that crossed, none twice."""
    found: dict[Way, list[tuple[int, int]]] = defaultdict(list)
    for each in passed(capture):
        found[each.segment.source, each.segment.destination].append((each.start, each.end))
    return defaultdict(list, {way: _merged(sorted(stretches)) for way, stretches in found.items()})


def _merged(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in stretches:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _bytes_below(position: int, stretches: list[tuple[int, int]]) -> int:
    return sum(max(0, min(end, position) - start) for start, end in stretches)


def data_ways(capture: Capture) -> list[Way]:
    """Directions that carry data, in order of their first data."""
    ways = ((each.segment.source, each.segment.destination) for each in passed(capture) if each.segment.payload_bytes)
    return list(dict.fromkeys(ways))
