"""Transfers made packet by packet, of which it is known what limits them: one sender, one narrow place, one receiver.

The sender keeps a window of segments in flight, whatever makes that window; each acknowledgement lets the next segment
go. The narrow place serves one segment after the other. Packets are as the sender's or the
receiver's host captures them.
"""

import json
import struct
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from vmtrace.analyze import _engine

SEGMENT = 1448
SCALE = 7
SYN, ACK, PSH = 0x02, 0x10, 0x08


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet as it passes the capture point."""

    time_s: float
    from_client: bool
    sequence: int
    acknowledged: int
    flags: int = ACK
    length: int = 0
    window: int = 500
    echo: tuple[int, int] | None = None
    """Timestamp and echo, ms."""
    opens: bool = False

    def as_bytes(self) -> bytes:
        ends = [(b"\xc6\x12\x01\x01", 40000), (b"\xc6\x12\x02\x01", 443)]
        (source, source_port), (target, target_port) = ends if self.from_client else ends[::-1]
        options = struct.pack("!BBH", 2, 4, 1460) + b"\4\2" + struct.pack("!BBB", 3, 3, SCALE) if self.opens else b""
        if self.echo:
            options += struct.pack("!BBII", 8, 10, *self.echo)
        options += b"\1" * (-len(options) % 4)
        numbers = (self.sequence & 0xFFFFFFFF, self.acknowledged & 0xFFFFFFFF)
        offset = (20 + len(options)) << 2
        tcp = (
            struct.pack("!HHIIBBHHH", source_port, target_port, *numbers, offset, self.flags, self.window, 0, 0)
            + options
        )
        length = 20 + len(tcp) + self.length
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, 6, 0, source, target)
        return ip + tcp + bytes(self.length)


@dataclass(slots=True)
class Capture:
    """Packets of one connection; times in seconds from its beginning."""

    packets: list[Packet] = field(default_factory=list)

    def add(self, packet: Packet) -> None:
        self.packets.append(packet)

    def open(self, round_trip_s: float, at_client: bool = True, syns_s: tuple[float, ...] = (0.0,)) -> float:
        """A handshake; every SYN but the last is lost behind the client. Returns when the client is done with it."""
        there = 0.0 if at_client else round_trip_s / 2
        last_s = syns_s[-1]
        for time_s in syns_s if at_client else syns_s[-1:]:
            echo = (1000 + round(time_s * 1000), 0)
            self.add(Packet(time_s + there, True, 999, 0, SYN, window=64240, opens=True, echo=echo))
        back_s = last_s + (round_trip_s if at_client else round_trip_s / 2)
        echo = (9000 + round(last_s * 1000), 1000 + round(last_s * 1000))
        self.add(Packet(back_s, False, 4999, 1000, SYN | ACK, window=64240, opens=True, echo=echo))
        done_s = last_s + round_trip_s
        self.add(Packet(done_s + there + 1e-5, True, 1000, 5000, echo=(1000 + round(done_s * 1000), echo[0])))
        return done_s + 1e-4

    def write(self, path: Path, from_s: float = 0.0) -> Path:
        out = BytesIO()
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101))
        for packet in sorted(self.packets, key=lambda packet: packet.time_s):
            if packet.time_s >= from_s:
                content, nanoseconds = packet.as_bytes(), round(packet.time_s * 1e9)
                times = (1_700_000_000 + nanoseconds // 10**9, nanoseconds % 10**9)
                out.write(struct.pack("<IIII", *times, len(content), len(content)) + content)
        path.write_bytes(out.getvalue())
        return path

    def connection(self, folder: Path, from_s: float = 0.0) -> dict[str, Any]:
        """What the engine says of it."""
        return connection_of(self.write(folder / "made.pcap", from_s))


def connection_of(path: Path) -> dict[str, Any]:
    parts: list[bytes] = []
    analysis = _engine.analyze([[str(path)]])
    analysis.write_json(parts.append, vmtrace_version="0", input_paths=[str(path)])
    connection: dict[str, Any] = json.loads(b"".join(parts))["connections"][0]
    return connection


def growing(most: int) -> Callable[[int], int]:
    """A window that slow start opens: a segment more for each that is acknowledged, up to so many."""
    return lambda acknowledged: min(10 + acknowledged, most)


@dataclass(frozen=True, slots=True)
class Bulk:
    """A client that always has data to send."""

    segments: int
    round_trip_s: float
    window: Callable[[int], int]
    """Segments that may be in flight when so many have been acknowledged."""
    service_s: float = 1e-5
    """What a segment takes at the narrowest place."""
    advertised: int = 4000
    """The receiver's window, in the header."""
    handshake_s: float | None = None
    """Its round trip, if that is another."""
    at_sender: bool = True
    syns_s: tuple[float, ...] = (0.0,)
    jitter_s: Callable[[], float] = lambda: 0.0
    """What an acknowledgement takes more."""
    clock_s: float = 2e-6
    """Least distance of two segments that leave the sender, as a queueing discipline of its host has it."""

    def capture(self) -> Capture:
        capture = Capture()
        handshake_s = self.round_trip_s if self.handshake_s is None else self.handshake_s
        start_s = capture.open(handshake_s, self.at_sender, self.syns_s)
        way_s = self.round_trip_s / 2
        acknowledged_s: list[float] = []
        free_s = now_s = start_s
        sent_s: list[float] = []
        done = 0
        for number in range(self.segments):
            # The window is what lets the segment go: how many must be acknowledged before.
            while done < number and self.window(done) <= number - done:
                done += 1
            now_s = max(now_s + self.clock_s, acknowledged_s[done - 1] + 1e-5 if done else start_s)
            sent_s.append(now_s)
            free_s = max(free_s, now_s + way_s) + self.service_s
            acknowledged_s.append(max([free_s + way_s + self.jitter_s(), *acknowledged_s[-1:]]))
        shift_s = 0.0 if self.at_sender else way_s
        for number, (at_s, back_s) in enumerate(zip(sent_s, acknowledged_s, strict=True)):
            arrived_s = max(at_s, back_s - way_s)
            stamp = (1000 + round(at_s * 1000), 9000 + round(self._heard_s(acknowledged_s, at_s) * 1000))
            seen_s = at_s if self.at_sender else arrived_s
            sequence = 1000 + number * SEGMENT
            capture.add(Packet(seen_s, True, sequence, 5000, length=SEGMENT, echo=stamp))
            stamp = (9000 + round(arrived_s * 1000), 1000 + round(at_s * 1000))
            window = self.advertised
            capture.add(Packet(back_s - shift_s + 1e-6, False, 5000, sequence + SEGMENT, window=window, echo=stamp))
        return capture

    def _heard_s(self, acknowledged_s: list[float], at_s: float) -> float:
        """When the newest acknowledgement that the sender has taken in was made."""
        heard = bisect_right(acknowledged_s, at_s)
        return acknowledged_s[heard - 1] - self.round_trip_s / 2 if heard else 0.0
