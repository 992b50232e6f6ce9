"""An independent, slow count of a capture with dpkt: packets, unique bytes and handshakes of each address pair.

It shares no line with the engine and knows nothing of it: frames by dpkt's readers, bytes as sets of intervals. What
it does not read (tunnels, rare link layers) it leaves out and says so.
"""

import contextlib
import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dpkt

HALF = 1 << 31
SPACE = 1 << 32
_EXTENSIONS = (0, 43, 60)  # Hop-by-hop options, routing, destination options.
MOST_PADDING = 6  # An Ethernet frame's zeros that a router took for payload.

Ends = tuple[bytes, int]
Pair = tuple[Ends, Ends]


@dataclass
class Stream:
    """What one side sent, from one SYN to the next."""

    first: int | None = None
    """Sequence number that positions count from."""
    highest: int = 0
    covered: list[tuple[int, int]] = field(default_factory=list)
    """Intervals of payload, apart and in order."""
    payload: int = 0

    def position(self, sequence: int) -> int:
        """Where a number lies, near the highest seen."""
        if self.first is None:
            self.first = sequence
        near = (sequence - self.first - self.highest) % SPACE
        return self.highest + (near - SPACE if near >= HALF else near)

    def add(self, sequence: int, length: int) -> None:
        """Takes payload."""
        start = self.position(sequence)
        self.highest = max(self.highest, start + length)
        self.payload += length
        merged, end = [], start + length
        for one, other in self.covered:
            if other < start or one > end:
                merged.append((one, other))
            else:
                start, end = min(start, one), max(end, other)
        self.covered = sorted([*merged, (start, end)])

    @property
    def unique(self) -> int:
        """Bytes that were sent at least once."""
        return sum(end - start for start, end in self.covered)


@dataclass
class Talk:
    """What passed between two ends."""

    packets: dict[Ends, int] = field(default_factory=dict)
    streams: dict[Ends, list[Stream]] = field(default_factory=dict)
    isn: dict[Ends, int] = field(default_factory=dict)
    complete: set[Ends] = field(default_factory=set)
    """Sides whose last SYN led to a handshake: what repeats it leads to no other."""
    awaited: dict[Ends, int] = field(default_factory=dict)
    """Of a side that has a SYN-ACK: the lowest number that completes the handshake."""
    syn_bytes: dict[Ends, int] = field(default_factory=dict)
    """Payload of a side's last SYN."""
    handshakes: int = 0

    def stream(self, ends: Ends) -> Stream:
        """The stream in hand."""
        return self.streams.setdefault(ends, [Stream()])[-1]

    def unique(self, ends: Ends) -> int:
        """Bytes of all streams of a side."""
        return sum(stream.unique for stream in self.streams.get(ends, ()))

    def take(self, source: Ends, destination: Ends, segment: Any, length: int) -> None:
        """Takes a segment with so much payload on the wire."""
        self.packets[source] = self.packets.get(source, 0) + 1
        flags = segment.flags
        if flags & dpkt.tcp.TH_SYN:
            self.syn_bytes[source] = length
            if self.isn.get(source) != segment.seq:
                self.isn[source] = segment.seq
                self.complete.discard(source)
                self.streams.setdefault(source, []).append(Stream(first=(segment.seq + 1) % SPACE))
            if flags & dpkt.tcp.TH_ACK and self._answers(destination, segment.ack):
                self.awaited[destination] = (segment.seq + 1) % SPACE
        elif (
            flags & (dpkt.tcp.TH_ACK | dpkt.tcp.TH_RST) == dpkt.tcp.TH_ACK
            and source in self.awaited
            and source not in self.complete
            and (segment.ack - self.awaited[source]) % SPACE <= self.stream(destination).highest + 1
        ):
            self.handshakes += 1
            self.complete.add(source)
        if length and not flags & dpkt.tcp.TH_RST:
            sequence = (segment.seq + bool(flags & dpkt.tcp.TH_SYN)) % SPACE
            self.stream(source).add(sequence, length)

    def _answers(self, ends: Ends, acknowledged: int) -> bool:
        """A SYN-ACK of this answers the SYN of `ends`, with or without its data, or one that is not in the file."""
        isn = self.isn.get(ends)
        return isn is None or (acknowledged - isn - 1) % SPACE in (0, self.syn_bytes.get(ends, 0))


@dataclass
class Count:
    """A capture, counted."""

    frames: int = 0
    segments: int = 0
    unread: int = 0
    """Frames that dpkt, or this count, does not decode."""
    talks: dict[Pair, Talk] = field(default_factory=dict)


def count(path: Path) -> Count:
    """Counts a file; raises ValueError where dpkt cannot read its format or link type."""
    data = _as_usual(_UNPACK.get(path.suffix, bytes)(path.read_bytes()))
    try:
        reader = dpkt.pcap.UniversalReader(io.BytesIO(data))
    except (ValueError, dpkt.dpkt.Error) as error:
        raise ValueError(str(error)) from error
    strip = _LINKS.get(reader.datalink())
    if strip is None:
        raise ValueError(f"link type {reader.datalink()}")
    found = Count()
    for _, frame in _whole(reader):
        found.frames += 1
        packet = strip(frame)
        if packet is None or not _segment(packet, found):
            found.unread += 1
    return found


def _without_lz4(packed: bytes) -> bytes:
    """The contents of an LZ4 frame; checksums are passed over."""
    flags = packed[4]
    at = 7 + 8 * bool(flags & 8) + 4 * bool(flags & 1)
    out = bytearray()
    while length := int.from_bytes(packed[at : at + 4], "little"):
        block = packed[at + 4 : at + 4 + (length & 0x7FFFFFFF)]
        if length >> 31:
            out += block
        else:
            _add_block(out, block)
        at += 4 + len(block) + 4 * bool(flags & 16)
    return bytes(out)


def _add_block(out: bytearray, block: bytes) -> None:
    at = 0

    def long(number: int, at: int) -> tuple[int, int]:
        """A length whose four bits were not enough goes on in bytes."""
        while number >= 15:
            number, at = number + block[at], at + 1
            if block[at - 1] < 255:
                break
        return number, at

    while at < len(block):
        token = block[at]
        literals, at = long(token >> 4, at + 1)
        out += block[at : at + literals]
        at += literals
        if at < len(block):
            back = int.from_bytes(block[at : at + 2], "little")
            repeated, at = long(token & 15, at + 2)
            for _ in range(repeated + 4):
                out.append(out[-back])


def _as_usual(data: bytes) -> bytes:
    """A "modified" pcap, whose record headers are eight bytes longer, as a usual one."""
    if data[:4] != b"\x34\xcd\xb2\xa1":
        return data
    usual, at = bytearray(b"\xd4\xc3\xb2\xa1" + data[4:24]), 24
    while at + 24 <= len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        usual += data[at : at + 16] + data[at + 24 : at + 24 + length]
        at += 24 + length
    return bytes(usual)


_UNPACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".lz4": _without_lz4}


def _whole(reader: Any) -> Iterator[tuple[float, bytes]]:
    """Records up to one that is cut short."""
    with contextlib.suppress(dpkt.dpkt.NeedData):
        yield from reader


def _segment(packet: bytes, found: Count) -> bool:
    """Takes the TCP segment of an IP packet, if there is one and it is whole in what counts."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        header, total = (packet[0] & 15) * 4, int.from_bytes(packet[2:4])
        protocol, fragment = packet[9], int.from_bytes(packet[6:8]) & 0x3FFF
        source, destination = packet[12:16], packet[16:20]
    elif version == 6 and len(packet) >= 40:
        header, total, protocol, fragment = 40, 40 + int.from_bytes(packet[4:6]), packet[6], 0
        source, destination = packet[8:24], packet[24:40]
        while protocol in _EXTENSIONS and len(packet) >= header + 8:
            protocol, header = packet[header], header + 8 * (packet[header + 1] + 1)
    else:
        return False
    if protocol != 6 or fragment or len(packet) < header + 20 or total < header + 20:
        return False
    segment = dpkt.tcp.TCP(packet[header : header + 20])
    length = total - header - (packet[header + 12] >> 4) * 4
    if length < 0:
        return False
    found.segments += 1
    ends = (source, segment.sport), (destination, segment.dport)
    pair: Pair = ends if ends[0] <= ends[1] else (ends[1], ends[0])
    found.talks.setdefault(pair, Talk()).take(*ends, segment, length)
    return True


def _ethernet(frame: bytes) -> bytes | None:
    at = 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8", b"\x91\x00"):
        at += 4
    return frame[at + 2 :] if frame[at : at + 2] in (b"\x08\x00", b"\x86\xdd") else None


def _cooked(frame: bytes) -> bytes | None:
    return frame[16:] if frame[14:16] in (b"\x08\x00", b"\x86\xdd") else None


def _cooked2(frame: bytes) -> bytes | None:
    return frame[20:] if frame[:2] in (b"\x08\x00", b"\x86\xdd") else None


_LINKS: dict[int, Any] = {
    0: lambda frame: frame[4:],
    1: _ethernet,
    12: lambda frame: frame,
    101: lambda frame: frame,
    113: _cooked,
    276: _cooked2,
}
