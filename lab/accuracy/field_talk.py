"""A conversation of two hosts, written into a pcap file packet by packet: that of `vmtrace.lab.accuracy.field_cases`.

Both sides begin at number 0, which stands for their initial number plus one. Times are milliseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
MSS = 1000

_START_NS = 1_790_000_000_000_000_000
_HOSTS = (b"\xc0\x00\x02\x01", b"\xc0\x00\x02\x02")  # RFC 5737
_PORTS = (50_000, 443)
_FIRST_NUMBERS = (1_000_000, 7_000_000)
_SYN_OPTIONS = struct.pack("!BBHBBBBBB", 2, 4, MSS, 1, 1, 4, 2, 1, 3) + b"\x03\x07\x00\x00"[:2]


@dataclass(slots=True)
class Talk:
    """Packets in the order of the file."""

    packets: list[tuple[float, bytes]] = field(default_factory=list)
    ids: list[int] = field(default_factory=lambda: [100, 40_000])

    def say(
        self,
        at_ms: float,
        side: int,
        flags: int = ACK,
        *,
        number: int = 0,
        ack: int = 0,
        data: bytes = b"",
        sack: Sequence[tuple[int, int]] = (),
        off: tuple[int, int] = (0, 0),
        ip_id: int | None = None,
    ) -> Talk:
        """One packet; `off` is added to its sequence and acknowledgement number."""
        options = _SYN_OPTIONS if flags & SYN else _sack(sack, _FIRST_NUMBERS[1 - side] + 1)
        first = _FIRST_NUMBERS[side] + (0 if flags & SYN else 1)
        numbers = [first + number + off[0], (_FIRST_NUMBERS[1 - side] + 1 + ack + off[1]) if flags & ACK else 0]
        head = struct.pack(
            "!HHIIBBHHH",
            _PORTS[side],
            _PORTS[1 - side],
            *(each % 2**32 for each in numbers),
            (5 + len(options) // 4) << 4,
            flags,
            60_000,
            0,
            0,
        )
        if ip_id is None:
            self.ids[side] += 1
            ip_id = self.ids[side] % 2**16
        total = 40 + len(options) + len(data)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, total, ip_id, 0x4000, 64, 6, 0) + _HOSTS[side] + _HOSTS[1 - side]
        self.packets.append((at_ms, b"\x02" * 12 + b"\x08\x00" + ip + head + options + data))
        return self

    def opened(self, rtt_ms: float = 20.0) -> Talk:
        """SYN, SYN-ACK, ACK, seen at the client."""
        self.say(0, 0, SYN).say(rtt_ms, 1, SYN | ACK)
        return self.say(rtt_ms + 0.05, 0)

    def write(self, path: Path) -> None:
        """As a pcap file with nanoseconds."""
        parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)]
        for at_ms, frame in self.packets:
            seconds, rest_ns = divmod(_START_NS + round(at_ms * 1e6), 10**9)
            parts += [struct.pack("<IIII", seconds, rest_ns, len(frame), len(frame)), frame]
        path.write_bytes(b"".join(parts))


def _sack(blocks: Sequence[tuple[int, int]], first: int) -> bytes:
    if not blocks:
        return b""
    edges = b"".join(struct.pack("!II", (first + start) % 2**32, (first + end) % 2**32) for start, end in blocks)
    return bytes([1, 1, 5, 2 + 8 * len(blocks)]) + edges
