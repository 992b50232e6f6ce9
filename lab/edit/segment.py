"""Where the TCP fields of a frame stand, and what they say: plain structs, no analysis.

Reads Ethernet and raw IP, IPv4 and IPv6 without extension headers, as the lab's own captures are.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from vmtrace.lab.edit.capture import Capture, Frame

FIN, SYN, RST, ACK = 1, 2, 4, 16

_LINK_HEADER_BYTES = {1: 14, 101: 0}  # LINKTYPE_ETHERNET, LINKTYPE_RAW
_TCP = 6
_OPTION_END, _OPTION_NOP, OPTION_SACK, OPTION_TIMESTAMPS = 0, 1, 5, 8


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment in a frame. `ip_at` and `tcp_at` are offsets of the headers; lengths follow the IP header."""

    ip_version: int
    ip_at: int
    tcp_at: int
    source: tuple[bytes, int]
    destination: tuple[bytes, int]
    seq: int
    ack: int
    flags: int
    window: int
    options: tuple[tuple[int, int, int], ...]
    payload_bytes: int

    @property
    def is_data(self) -> bool:
        """It carries payload, and opens nothing."""
        return self.payload_bytes > 0 and not self.flags & SYN

    @property
    def is_pure_ack(self) -> bool:
        """It carries nothing but an acknowledgement."""
        return not self.payload_bytes and self.flags & (SYN | FIN | RST | ACK) == ACK


def segment_of(frame: Frame, link_type: int) -> Segment | None:
    """The TCP segment of a frame; none if there is none, or its fixed header is cut."""
    content, ip_at = frame.content, _LINK_HEADER_BYTES[link_type]
    if len(content) < ip_at + 40:
        return None
    version = content[ip_at] >> 4
    if version == 4:
        tcp_at, protocol = ip_at + (content[ip_at] & 15) * 4, content[ip_at + 9]
        addresses = content[ip_at + 12 : ip_at + 16], content[ip_at + 16 : ip_at + 20]
        # Offload may leave the length 0; then that of the frame counts.
        ip_bytes = int.from_bytes(content[ip_at + 2 : ip_at + 4]) or frame.wire_bytes - ip_at
    else:
        tcp_at, protocol = ip_at + 40, content[ip_at + 6]
        addresses = content[ip_at + 8 : ip_at + 24], content[ip_at + 24 : ip_at + 40]
        ip_bytes = 40 + int.from_bytes(content[ip_at + 4 : ip_at + 6])
    if version not in {4, 6} or protocol != _TCP or len(content) < tcp_at + 20:
        return None
    source_port, destination_port, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", content, tcp_at)
    header_bytes = (offset >> 4) * 4
    return Segment(
        version,
        ip_at,
        tcp_at,
        (addresses[0], source_port),
        (addresses[1], destination_port),
        seq,
        ack,
        flags,
        window,
        tuple(_options(content, tcp_at + 20, tcp_at + header_bytes)),
        ip_bytes - (tcp_at - ip_at) - header_bytes,
    )


def segments_of(capture: Capture) -> list[Segment | None]:
    """The segment of each frame, in order."""
    return [segment_of(frame, capture.link_type) for frame in capture.frames]


def sack_blocks(segment: Segment, content: bytes) -> list[tuple[int, int]]:
    """Left and right edges of the SACK option (RFC 2018), in order."""
    blocks = []
    for kind, at, length in segment.options:
        if kind == OPTION_SACK:
            blocks += [struct.unpack_from("!II", content, at + 2 + 8 * index) for index in range((length - 2) // 8)]
    return blocks


def _options(content: bytes, at: int, end: int) -> list[tuple[int, int, int]]:
    """Kind, offset and length of the options that were captured whole."""
    found = []
    end = min(end, len(content))
    while at < end and content[at] != _OPTION_END:
        if content[at] == _OPTION_NOP:
            at += 1
            continue
        if at + 1 >= end or content[at + 1] < 2 or at + content[at + 1] > end:
            break
        found.append((content[at], at, content[at + 1]))
        at += content[at + 1]
    return found
