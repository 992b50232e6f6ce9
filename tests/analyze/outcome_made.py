"""Captures of connections that did not open, move their data or end well, packet by packet, for tests of outcomes.

A `Wire` writes TCP segments and ICMP errors of IPv4 and IPv6, raw or behind Ethernet and VLAN tags, in time order.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

from vmtrace.analyze.trace import Trace, read

START_NS = 1_700_000_000_000_000_000
FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16}
RAW_IP, ETHERNET = 101, 1


@dataclass(frozen=True)
class Ends:
    """Addresses, ports and first numbers of both sides, and the TTLs that the capture sees."""

    client: str = "198.18.0.1"
    server: str = "198.18.0.2"
    ports: tuple[int, int] = (40000, 443)
    isn: tuple[int, int] = (1000, 90000)
    ttl: tuple[int, int] = (64, 57)
    timestamps: bool = True
    sack: bool = True
    mss: int = 1460

    @property
    def full(self) -> int:
        """Payload of a full segment."""
        return self.mss - (12 if self.timestamps else 0)

    @property
    def headers(self) -> int:
        """Bytes of IP and TCP before the payload."""
        return (60 if ":" in self.client else 40) + (12 if self.timestamps else 0)


@dataclass
class Wire:
    """What the capture holds so far."""

    ends: Ends = field(default_factory=Ends)
    vlans: int = 0
    records: list[tuple[float, bytes, int]] = field(default_factory=list)
    ids: dict[bool, int] = field(default_factory=lambda: {True: 100, False: 5000})

    def at(self, ends: Ends) -> "Wire":
        """The same capture for another connection."""
        return replace(self, ends=ends, ids={True: 100, False: 5000})

    def tcp(
        self,
        time_s: float,
        from_client: bool,
        flags: str,
        start: int = 0,
        acked: int = 0,
        length: int = 0,
        *,
        window: int = 500,
        ttl: int | None = None,
        ip_id: int | None = None,
        sack: tuple[int, int] | None = None,
        number: int | None = None,
    ) -> "Wire":
        """A segment; positions count from the first byte behind the SYN."""
        ends = self.ends
        own, other = (ends.isn[0], ends.isn[1]) if from_client else (ends.isn[1], ends.isn[0])
        opening = "S" in flags
        sequence = number if number is not None else own + (0 if opening else 1) + start
        acknowledgement = other + 1 + acked if "A" in flags else 0
        options = _options(ends, opening, time_s, sack)
        ports = ends.ports if from_client else ends.ports[::-1]
        header = struct.pack(
            "!HHIIBBHHH",
            *ports,
            sequence & 0xFFFFFFFF,
            acknowledgement & 0xFFFFFFFF,
            (20 + len(options)) // 4 << 4,
            sum(FLAGS[flag] for flag in flags),
            64240 if opening else window,
            0,
            0,
        )
        body = header + options + bytes(min(length, 16))
        self.ids[from_client] += 1
        ip = _ip(
            ends.client if from_client else ends.server,
            ends.server if from_client else ends.client,
            6,
            len(header) + len(options) + length,
            ttl if ttl is not None else ends.ttl[0 if from_client else 1],
            self.ids[from_client] if ip_id is None else ip_id,
        )
        self._add(time_s, ip + body, len(ip) + len(header) + len(options) + length)
        return self

    def icmp(
        self,
        time_s: float,
        kind: int,
        code: int,
        *,
        sender: str = "192.0.2.1",
        mtu: int = 0,
        quoted: Ends | None = None,
        start: int = -1,
        quoted_bytes: int = 8,
    ) -> "Wire":
        """An ICMP error that quotes the client's segment from `start` on, -1 being the SYN."""
        ends = quoted or self.ends
        version = ip_address(ends.client).version
        segment = struct.pack("!HHI", *ends.ports, (ends.isn[0] + 1 + start) & 0xFFFFFFFF) + bytes(40)
        quote = _ip(ends.client, ends.server, 6, 40, 60, 1) + segment[:quoted_bytes]
        rest = struct.pack("!I", mtu) if version == 6 else struct.pack("!HH", 0, mtu)
        body = struct.pack("!BBH", kind, code, 0) + rest + quote
        ip = _ip(sender, self.ends.client, 58 if version == 6 else 1, len(body), 60, 7)
        self._add(time_s, ip + body, len(ip) + len(body))
        return self

    def other(self, time_s: float) -> "Wire":
        """A packet of another connection, which shows that the capture goes on."""
        self.at(replace(self.ends, ports=(50000, 9999))).tcp(time_s, True, "A")
        return self

    def _add(self, time_s: float, packet: bytes, length: int) -> None:
        if self.vlans:
            kind = 0x86DD if packet[0] >> 4 == 6 else 0x0800
            tags = b"".join(struct.pack("!HH", 0x8100, 5) for _ in range(self.vlans))
            frame = bytes(12) + tags + struct.pack("!H", kind)
            packet, length = frame + packet, length + len(frame)
        self.records.append((time_s, packet, length))

    def pcap(self) -> bytes:
        """The file."""
        head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, ETHERNET if self.vlans else RAW_IP)
        return head + b"".join(self._written())

    def _written(self) -> Iterator[bytes]:
        for time_s, packet, length in sorted(self.records, key=lambda record: record[0]):
            second, rest_ns = divmod(START_NS + round(time_s * 1e9), 10**9)
            yield struct.pack("<IIII", second, rest_ns, len(packet), max(length, len(packet))) + packet

    def trace(self) -> Trace:
        """What the engine makes of it."""
        return read(self.pcap())

    def connection(self) -> dict[str, Any]:
        """The record of its first connection."""
        found: dict[str, Any] = self.trace().json()["connections"][0]
        return found

    def outcome(self) -> dict[str, Any] | None:
        """What became of its first connection."""
        found: dict[str, Any] | None = self.connection()["outcome"]
        return found

    def kind(self) -> str | None:
        """The kind of that."""
        found = self.outcome()
        return None if found is None else found["kind"]


def _options(ends: Ends, opening: bool, time_s: float, sack: tuple[int, int] | None) -> bytes:
    options = b""
    if opening:
        options += struct.pack("!BBH", 2, 4, ends.mss) + (b"\4\2" if ends.sack else b"") + b"\3\3\7"
    if ends.timestamps:
        options += struct.pack("!BBII", 8, 10, 5000 + int(time_s * 1000), 4000 + int(time_s * 1000))
    if sack is not None:
        # Only the client's data is reported.
        options += struct.pack("!BBII", 5, 10, *((ends.isn[0] + 1 + one) & 0xFFFFFFFF for one in sack))
    return options + b"\1" * (-len(options) % 4)


def _ip(source: str, destination: str, protocol: int, length: int, ttl: int, ip_id: int) -> bytes:
    ends = ip_address(source).packed + ip_address(destination).packed
    if len(ends) > 8:
        return struct.pack("!IHBB", 0x60000000, length, protocol, ttl) + ends
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, ip_id & 0xFFFF, 0x4000, ttl, protocol, 0) + ends


def opened(wire: Wire, rtt_s: float = 0.02, at_s: float = 0.0, *, near_client: bool = True) -> float:
    """A handshake; returns when it was over."""
    there_s, back_s = (rtt_s, 2e-5) if near_client else (2e-5, rtt_s)
    wire.tcp(at_s, True, "S").tcp(at_s + there_s, False, "SA").tcp(at_s + there_s + back_s, True, "A")
    return at_s + there_s + back_s


def exchanged(wire: Wire, at_s: float, sent: int = 0, got: int = 0, rtt_s: float = 0.02) -> tuple[float, int, int]:
    """A request of 200 bytes and a response of 5000, acknowledged; returns when, and the positions then."""
    wire.tcp(at_s, True, "PA", sent, got, 200).tcp(at_s + rtt_s, False, "A", got, sent + 200)
    full = wire.ends.full
    time_s = at_s + rtt_s
    for offset in range(0, 5000, full):
        time_s += 1e-4
        wire.tcp(time_s, False, "PA", got + offset, sent + 200, min(full, 5000 - offset))
    wire.tcp(time_s + 1e-4, True, "A", sent + 200, got + 5000)
    return time_s + 1e-4, sent + 200, got + 5000


def closed(wire: Wire, at_s: float, sent: int, got: int, rtt_s: float = 0.02) -> float:
    """FINs of both sides; returns when it was over."""
    wire.tcp(at_s, True, "FA", sent, got).tcp(at_s + rtt_s, False, "FA", got, sent + 1)
    wire.tcp(at_s + rtt_s + 1e-4, True, "A", sent + 1, got + 1)
    return at_s + rtt_s + 1e-4


def backoff(first_s: float, times: int) -> Iterator[float]:
    """Seconds at which a timer expires that doubles."""
    at_s = 0.0
    for number in range(times):
        at_s += first_s * 2**number
        yield at_s
