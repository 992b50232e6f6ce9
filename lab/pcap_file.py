"""Just enough of the pcap format to check a lab capture against the emulator's log.

The lab must not judge itself with the analyzer it is there to test, so it counts its own captures with this.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GLOBAL = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_UNITS_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
_LINK_HEADER_BYTES = {1: 14, 101: 0}  # LINKTYPE_ETHERNET, LINKTYPE_RAW
_TCP = 6


@dataclass(frozen=True, slots=True)
class CapturedPacket:
    """One TCP packet of a capture: Unix nanoseconds, source address, header fields, lengths from the IP header."""

    time_ns: int
    source: bytes
    source_port: int
    seq: int
    flags: int
    ip_bytes: int
    payload_bytes: int


def read_packets(path: Path) -> Iterator[CapturedPacket]:
    """TCP packets of a little-endian pcap file as tcpdump writes it here."""
    content = path.read_bytes()
    magic, _, _, _, _, _, link_type = _GLOBAL.unpack_from(content)
    unit_ns, skip = _UNITS_NS[magic], _LINK_HEADER_BYTES[link_type]
    at = _GLOBAL.size
    while at + _RECORD.size <= len(content):
        seconds, fraction, captured, length = _RECORD.unpack_from(content, at)
        at += _RECORD.size
        packet = _decode(
            content[at + skip : at + captured], seconds * 1_000_000_000 + fraction * unit_ns, length - skip
        )
        if packet:
            yield packet
        at += captured


def _decode(packet: bytes, time_ns: int, frame_bytes: int) -> CapturedPacket | None:
    if packet[0] >> 4 == 4:
        protocol, source, start = packet[9], packet[12:16], (packet[0] & 15) * 4
        ip_bytes = int.from_bytes(packet[2:4]) or frame_bytes
    else:
        protocol, source, start = packet[6], packet[8:24], 40
        ip_bytes = int.from_bytes(packet[4:6]) + 40
    if protocol != _TCP:
        return None
    port, _, seq, _, offset, flags = struct.unpack_from("!HHIIBB", packet, start)
    return CapturedPacket(time_ns, source, port, seq, flags, ip_bytes, ip_bytes - start - (offset >> 4) * 4)
