"""A capture from the middle of the path, made from one at its edge: what a tap on the way would have recorded.

Where the last part of a path is nothing but a constant delay, a tap before it sees each packet of the one way so much
earlier and each packet of the other way so much later than the capture behind it. The delay is the emulator's, so this
is exact, and needs no third host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from vmtrace.lab.edit.capture import Frame, parse_capture, pcap_bytes

_ETHERNET, _ETHERNET_HEADER_BYTES = 1, 14
_IPV4_SOURCE, _IPV6_SOURCE = slice(12, 16), slice(8, 24)


def tapped(edge: Path, data_sender: str, shift_s: float) -> bytes:
    """The pcap of a tap: packets of `data_sender` pass it `shift_s` later than the edge, the others so much earlier.

    From a capture behind the path, beside the receiver, `shift_s` is negative: data passes the tap before it arrives.
    """
    capture = parse_capture(edge.read_bytes())
    source = ipaddress.ip_address(data_sender).packed
    header_bytes = _ETHERNET_HEADER_BYTES if capture.link_type == _ETHERNET else 0
    shift_ns = round(shift_s * 1e9)
    return pcap_bytes(capture.with_frames(_moved(capture.frames, source, header_bytes, shift_ns)))


def _moved(frames: Iterable[Frame], source: bytes, header_bytes: int, shift_ns: int) -> list[Frame]:
    moved = (
        replace(
            frame, time_ns=frame.time_ns + (shift_ns if _source(frame.content[header_bytes:]) == source else -shift_ns)
        )
        for frame in frames
    )
    return sorted(moved, key=lambda frame: frame.time_ns)


def _source(packet: bytes) -> bytes:
    return packet[_IPV4_SOURCE] if packet[0] >> 4 == 4 else packet[_IPV6_SOURCE]
