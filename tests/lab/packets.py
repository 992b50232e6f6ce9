"""Packets and fates that tests build in the open, and the namespaces a process still has."""

from __future__ import annotations

import struct
from pathlib import Path

from vmtrace.lab.fate_log import PacketFate


def tcp_packet(
    seq: int,
    payload_bytes: int,
    *,
    ack: int = 0,
    flags: int = 16,
    ip_id: int = 0,
    tsval: int | None = None,
    version: int = 4,
) -> bytes:
    """An IP packet with a TCP segment of zeroes, ports 1000 to 2000, addresses 198.18.1.1 to 198.18.2.1."""
    options = b"" if tsval is None else struct.pack("!BBBBII", 1, 1, 8, 10, tsval, 0)
    tcp = struct.pack("!HHIIBBHHH", 1000, 2000, seq, ack, (20 + len(options)) // 4 << 4, flags, 500, 0, 0) + options
    length = len(tcp) + payload_bytes
    if version == 4:
        head = struct.pack(
            "!BBHHHBBH4s4s", 0x45, 0, 20 + length, ip_id, 0, 64, 6, 0, b"\xc6\x12\x01\x01", b"\xc6\x12\x02\x01"
        )
    else:
        head = struct.pack("!IHBB16s16s", 6 << 28, length, 6, 64, b"\xfd" + bytes(15), b"\xfd" + bytes(14) + b"\x01")
    return head + tcp + bytes(payload_bytes)


def fate(
    number: int,
    seq: int,
    payload_bytes: int = 100,
    *,
    arrives_ms: int | None = 10,
    what: str = "delivered",
    flags: int = 16,
) -> PacketFate:
    """A forward packet that entered at `number` ms and left `arrives_ms` later, or never."""
    entered = number * 1_000_000
    left = 0 if arrives_ms is None else entered + arrives_ms * 1_000_000
    if arrives_ms is None and what == "delivered":
        what = "lost_random"
    return PacketFate(
        number,
        "forward",
        what,
        entered,
        left,
        left,
        payload_bytes + 40,
        number,
        1000,
        2000,
        seq,
        0,
        flags,
        500,
        payload_bytes,
        0,
        0,
    )


def own_namespaces(process_id: int) -> list[str]:
    folder = Path("/run/netns")
    return sorted(path.name for path in folder.glob(f"vmt{process_id}-*")) if folder.exists() else []
