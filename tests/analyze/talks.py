"""A conversation as a capture would show it, packet by packet, for tests: `Talk().open(0.02).client(0.03, 400)`."""

import struct
from dataclasses import dataclass, field
from itertools import count


@dataclass(slots=True)
class Talk:
    """Packets between one client and one server; times are seconds at the client. Each side acknowledges all it has."""

    port: int = 40_000
    sent: dict[tuple[int, int], int] = field(default_factory=dict)
    packets: list[tuple[float, bytes]] = field(default_factory=list)
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def open(self, rtt_s: float) -> "Talk":
        """SYN at 0, SYN-ACK a round trip later, ACK at once."""
        self.sent[self.port, 0] = self.sent[self.port, 1] = 0
        self._add(0.0, 0, 0x02)
        self.sent[self.port, 0] = 1
        self._add(rtt_s, 1, 0x12)
        self.sent[self.port, 1] = 1
        self._add(rtt_s + 20e-6, 0, 0x10)
        return self

    def client(self, time_s: float, length: int) -> "Talk":
        """Data of the client in one packet."""
        return self._data(time_s, 0, length)

    def server(self, time_s: float, length: int) -> "Talk":
        """Data of the server in one packet."""
        return self._data(time_s, 1, length)

    def close(self, time_s: float) -> "Talk":
        """FINs of both sides, a millisecond apart, and the last ACK."""
        for side in (0, 1):
            self._add(time_s + side / 1000, side, 0x11)
            self.sent[self.port, side] += 1
        self._add(time_s + 0.002, 0, 0x10)
        return self

    def later(self, time_s: float) -> "Talk":
        """All of it so much later."""
        self.packets = [(at_s + time_s, packet) for at_s, packet in self.packets]
        return self

    def capture(self) -> bytes:
        """The capture: a pcap of raw IPv4 packets with nanoseconds."""
        records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 101)]
        for time_s, packet in sorted(self.packets, key=lambda each: each[0]):
            seconds, nanoseconds = divmod(round(time_s * 1e9), 10**9)
            records += struct.pack("<IIII", 1_700_000_000 + seconds, nanoseconds, len(packet), len(packet)), packet
        return b"".join(records)

    def _data(self, time_s: float, side: int, length: int) -> "Talk":
        self._add(time_s, side, 0x18, b"\0" * length)
        self.sent[self.port, side] += length
        return self

    def _add(self, time_s: float, side: int, flags: int, payload: bytes = b"") -> None:
        ends = [(bytes([198, 18, 1, 1]), self.port), (bytes([198, 18, 2, 1]), 80)]
        (source, source_port), (target, target_port) = ends[side], ends[1 - side]
        acknowledged = self.sent[self.port, 1 - side] if flags & 0x10 else 0
        numbers = (1000 + self.sent[self.port, side], 5000 + acknowledged if side == 0 else 1000 + acknowledged)
        if side == 1:
            numbers = (5000 + self.sent[self.port, 1], 1000 + acknowledged)
        tcp = struct.pack("!HHIIBBHHH", source_port, target_port, *numbers, 5 << 4, flags, 500, 0, 0) + payload
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), next(self.numbers) & 0xFFFF, 0x4000, 64, 6, 0)
        self.packets.append((time_s, ip + source + target + tcp))
