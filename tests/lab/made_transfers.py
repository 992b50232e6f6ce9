"""Transfers that tests make packet by packet, where the samples are too short or have no IPv6."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from vmtrace.lab.edit.capture import Capture, Frame
from vmtrace.lab.edit.segment import ACK, FIN, SYN

MILLISECOND = 1_000_000
START_NS = 1_700_000_000_000_000_000
SEGMENT_BYTES = 1448
_RAW_IP = 101
_WINDOW = 512
_SHIFT = 7


@dataclass(slots=True)
class Host:
    """One end: what it numbers its bytes and packets with, and when its timestamp clock was 0."""

    address: bytes
    port: int
    next_seq: int
    next_id: int
    clock_zero_ns: int
    heard: int = 0

    def tsval(self, time_ns: int) -> int:
        """A clock of 1 ms."""
        return (time_ns - self.clock_zero_ns) // MILLISECOND


@dataclass(slots=True)
class Conversation:
    """Packets between a client and a server as they pass beside the client."""

    version: int = 4
    client: Host = field(init=False)
    server: Host = field(init=False)
    frames: list[Frame] = field(default_factory=list)

    def __post_init__(self) -> None:
        one, other = (b"\xc6\x12\x01\x01", b"\xc6\x12\x02\x01") if self.version == 4 else (b"\xfd" * 16, b"\xfc" * 16)
        self.client = Host(one, 40000, 1_000_000, 100, START_NS - 5_000_000 * MILLISECOND)
        self.server = Host(other, 5810, 9_000_000, 7000, START_NS - 70_000 * MILLISECOND)

    def send(self, time_ns: int, host: Host, flags: int = ACK, payload_bytes: int = 0, path_ns: int = 0) -> None:
        """A packet passes; it left its host `path_ns` before. It acknowledges all that the peer has sent until now."""
        peer = self.server if host is self.client else self.client
        tsval = host.tsval(time_ns - path_ns)
        options = struct.pack("!BBBBII", 1, 1, 8, 10, tsval, host.heard)
        if flags & SYN:
            options += struct.pack("!BBHBBBBBB", 2, 4, 1460, 3, 3, _SHIFT, 1, 4, 2) + b"\x01\x01"
        ack = peer.next_seq if flags & ACK else 0
        ports = struct.pack("!HH", host.port, peer.port)
        offset = (20 + len(options)) // 4 << 4
        tcp = ports + struct.pack("!IIBBH", host.next_seq, ack, offset, flags, _WINDOW)
        length = len(tcp) + 4 + len(options) + payload_bytes
        pseudo = host.address + peer.address + struct.pack("!IHH", length, 0, 6)
        tcp += struct.pack("!HH", _checksum(pseudo + tcp + options), 0) + options
        head = self._ip_header(host, peer, length)
        number = len(self.frames) + 1
        self.frames.append(Frame(number, time_ns, len(head) + length, head + tcp))
        peer.heard = tsval
        host.next_seq += payload_bytes + bool(flags & (SYN | FIN))
        host.next_id = (host.next_id + 1) % (1 << 16)

    def capture(self) -> Capture:
        return Capture(_RAW_IP, 96, tuple(self.frames))

    def _ip_header(self, host: Host, peer: Host, length: int) -> bytes:
        ttl = 64 if host is self.client else 60
        if self.version == 6:
            return struct.pack("!IHBB", 6 << 28, length, 6, ttl) + host.address + peer.address
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, host.next_id, 0x4000, ttl, 6, 0)
        return head + host.address + peer.address


def _checksum(content: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f"!{len(content) // 2}H", content)
    folded = sum(words)
    while folded >> 16:
        folded = (folded & 0xFFFF) + (folded >> 16)
    return ~folded & 0xFFFF


def upload(*, version: int = 4, rounds: int = 100, rtt_ns: int = 40 * MILLISECOND, window: int = 10) -> Capture:
    """A client sends windows of segments without loss, seen beside it; every second segment is acknowledged."""
    talk = Conversation(version)
    client, server = talk.client, talk.server
    talk.send(START_NS, client, SYN)
    talk.send(START_NS + rtt_ns, server, SYN | ACK, path_ns=rtt_ns // 2)
    time_ns = START_NS + rtt_ns + 50_000
    talk.send(time_ns, client)
    time_ns += 100_000
    for _ in range(rounds):
        time_ns = _round(talk, time_ns, rtt_ns, window)
    talk.send(time_ns, client, ACK | FIN)
    talk.send(time_ns + rtt_ns, server, ACK | FIN, path_ns=rtt_ns // 2)
    talk.send(time_ns + rtt_ns + 50_000, client)
    return talk.capture()


def _round(talk: Conversation, time_ns: int, rtt_ns: int, window: int) -> int:
    """A window of segments 0.2 ms apart, then their acknowledgements; returns when the next may start."""
    gap_ns = 200_000
    client, server = talk.client, talk.server
    answered = client.next_seq
    for index in range(window):
        talk.send(time_ns + index * gap_ns, client, payload_bytes=SEGMENT_BYTES)
    after = client.next_seq
    for index in range(1, window, 2):
        # What the server has got until now, and the timestamp of the first of the two segments (RFC 7323 section 4.3).
        client.next_seq = answered + (index + 1) * SEGMENT_BYTES
        server.heard = client.tsval(time_ns + (index - 1) * gap_ns)
        talk.send(time_ns + index * gap_ns + rtt_ns, server, path_ns=rtt_ns // 2)
    client.next_seq = after
    return time_ns + (window - 1) * gap_ns + rtt_ns + 100_000
