"""Frames of the captures of `tools.growing`: Ethernet, IPv4, TCP and UDP, and the pcap file they go into."""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

CLIENT, SERVER = True, False
CLIENT_ADDRESS, SERVER_ADDRESS = 0x0A000001, 0x0A000002
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
_ETHERNET = b"\2" * 6 + b"\4" * 6 + b"\x08\x00"
_BEGIN_US = 1_700_000_000_000_000
_LINKTYPE_ETHERNET = 1


class Timed(NamedTuple):
    """A frame, and by how much its time differs from that of the one before."""

    frame: bytes
    step_us: int


def ipv4(
    source: int, destination: int, protocol: int, payload: bytes, identification: int = 1, fragment: int = 0x4000
) -> bytes:
    """A frame with one packet."""
    length = min(20 + len(payload), 0xFFFF)
    header = (0x45, 0, length, identification & 0xFFFF, fragment, 64, protocol, 0, source, destination)
    return _ETHERNET + struct.pack("!BBHHHBBHII", *header) + payload


def tcp(  # noqa: PLR0913
    source: int,
    destination: int,
    sequence: int,
    acknowledgement: int,
    flags: int,
    *,
    options: bytes = b"",
    data: bytes = b"",
    window: int = 60_000,
) -> bytes:
    """A TCP segment."""
    offset = (20 + len(options)) // 4 << 4
    numbers = (sequence & 0xFFFFFFFF, acknowledgement & 0xFFFFFFFF)
    return struct.pack("!HHIIBBHHH", source, destination, *numbers, offset, flags, window, 0, 0) + options + data


def segment(  # noqa: PLR0913
    is_client: bool,
    sequence: int,
    acknowledgement: int,
    flags: int = ACK,
    *,
    options: bytes = b"",
    data: bytes = b"",
    window: int = 60_000,
    client_port: int = 40_000,
    server_port: int = 80,
) -> bytes:
    """A frame of one connection."""
    ports = (client_port, server_port) if is_client else (server_port, client_port)
    made = tcp(*ports, sequence, acknowledgement, flags, options=options, data=data, window=window)
    return ipv4(*_addresses(is_client), 6, made)


def udp(is_client: bool, source: int, destination: int, data: bytes) -> bytes:
    """A frame with a datagram."""
    header = struct.pack("!HHHH", source, destination, 8 + len(data), 0)
    return ipv4(*_addresses(is_client), 17, header + data)


def sack(blocks: Iterable[tuple[int, int]]) -> bytes:
    """The option, padded (RFC 2018)."""
    body = b"".join(struct.pack("!II", start & 0xFFFFFFFF, end & 0xFFFFFFFF) for start, end in blocks)
    return b"\x01\x01\x05" + bytes([2 + len(body)]) + body


def write(path: Path, frames: Iterable[bytes | Timed], step_us: int) -> None:
    """A pcap file, `step_us` between frames that say nothing else."""
    at_us = _BEGIN_US
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 22, _LINKTYPE_ETHERNET))
        for made in frames:
            frame, step = made if isinstance(made, Timed) else (made, step_us)
            at_us += step
            file.write(struct.pack("<IIII", at_us // 10**6, at_us % 10**6, len(frame), len(frame)) + frame)


def _addresses(is_client: bool) -> tuple[int, int]:
    return (CLIENT_ADDRESS, SERVER_ADDRESS) if is_client else (SERVER_ADDRESS, CLIENT_ADDRESS)
