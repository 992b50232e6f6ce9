"""Captures made from others, frame by frame: tunnelled, as IPv6, of two points, appended, one connection many times."""

import heapq
import itertools
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

# Time in microseconds, length on the wire, captured bytes.
Frame = tuple[int, int, bytes]

_RECORD = struct.Struct("<IIII")
_ETHERNET, _IPV4 = 14, 20
_SNAP_LENGTH = 128


def read(path: Path) -> tuple[int, list[Frame]]:
    """Link type and frames of a pcap file with microseconds, or with nanoseconds, which are cut."""
    stored = path.read_bytes()
    magic, *_, link_type = struct.unpack_from("<IHHIIII", stored)
    unit = 1000 if magic == 0xA1B23C4D else 1
    frames, at = [], 24
    while at < len(stored):
        seconds, fraction, captured, length = _RECORD.unpack_from(stored, at)
        at += _RECORD.size + captured
        frames.append((seconds * 1_000_000 + fraction // unit, length, stored[at - captured : at]))
    return link_type, frames


def write(path: Path, frames: Iterable[Frame], link_type: int = 1) -> int:
    """Writes a pcap file; gives the number of its packets."""
    packets = 0
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link_type))
        for time_us, length, captured in frames:
            file.write(_RECORD.pack(time_us // 1_000_000, time_us % 1_000_000, len(captured), length) + captured)
            packets += 1
    return packets


def in_vlan_and_gre(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Each packet in a GRE tunnel between two routers, in a VLAN."""
    for time_us, length, frame in frames:
        outer = ipv4_header(length - _ETHERNET + 24, 47, bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
        tagged = frame[:12] + b"\x81\x00\x00\x07\x08\x00" + outer + b"\x00\x00\x08\x00" + frame[_ETHERNET:]
        yield time_us, length + 28, tagged[:_SNAP_LENGTH]


def as_ipv6(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Each packet with the same TCP in IPv6; checksums follow from the difference of the addresses."""
    for time_us, length, frame in frames:
        ends = frame[26:34]
        addresses = b"".join(b"\xfd" + bytes(11) + ends[at : at + 4] for at in (0, 4))
        header = struct.pack(">IHBB", 0x6000_0000, length - _ETHERNET - _IPV4, 6, frame[22]) + addresses
        tcp = bytearray(frame[_ETHERNET + _IPV4 :])
        # Two words of 0xfd00 more in the pseudo header.
        tcp[16:18] = checksum(2 * 0xFD00 - checksum_sum(tcp[16:18]))
        yield time_us, length + 20, frame[:12] + b"\x86\xdd" + header + bytes(tcp)


def of_two_points(frames: list[Frame], way_us: int, clock_us: int) -> Iterator[Frame]:
    """Captures at the client and at a point nearer to the server, whose clock is ahead, in order of time."""

    def at_server(frame: Frame) -> Frame:
        time_us, length, captured = frame
        from_client = captured[26:30] < captured[30:34]
        passed = bytearray(captured)
        passed[22] += -4 if from_client else 4
        passed[24:26] = b"\x00\x00"
        passed[24:26] = checksum(checksum_sum(passed[14:34]))
        return time_us + clock_us + (way_us if from_client else -way_us), length, bytes(passed)

    second = sorted(map(at_server, frames), key=lambda frame: frame[0])
    return heapq.merge(frames, second, key=lambda frame: frame[0])


def in_order(captures: Iterable[list[Frame]]) -> Iterator[Frame]:
    """Several captures in order of time, as mergecap writes them."""
    return heapq.merge(*captures, key=lambda frame: frame[0])


def appended(captures: Iterable[list[Frame]]) -> Iterator[Frame]:
    """One capture behind the other, whatever their times, as `mergecap -a` writes them."""
    return itertools.chain.from_iterable(captures)


def repeated(frames: list[Frame], times: int) -> Iterator[Frame]:
    """A capture of one connection (raw IPv4, SYN first) again and again, later and of another client port each time."""
    client_port = frames[0][2][_IPV4 : _IPV4 + 2]
    spacing_us = frames[-1][0] - frames[0][0] + 10_000
    for number in range(times):
        port = struct.pack(">H", 10_000 + number)
        for time_us, length, frame in frames:
            copy = bytearray(frame)
            at = _IPV4 if frame[_IPV4 : _IPV4 + 2] == client_port else _IPV4 + 2
            copy[at : at + 2] = port
            # RFC 1624: ~(~HC + ~m + m').
            copy[36:38] = checksum(checksum_sum(port) - checksum_sum(client_port) - checksum_sum(copy[36:38]))
            yield time_us + number * spacing_us, length, bytes(copy)


def ipv4_header(length: int, protocol: int, source: bytes, target: bytes) -> bytes:
    """Without options."""
    header = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0x4000, 64, protocol, 0) + source + target
    return header[:10] + checksum(checksum_sum(header)) + header[12:]


def checksum_sum(words: bytes | bytearray) -> int:
    """Sum of 16-bit words in one's complement, folded: a remainder of the number that they make."""
    odd = 8 * (len(words) % 2)
    return (int.from_bytes(words) << odd) % 0xFFFF


def checksum(total: int) -> bytes:
    """The complement of a sum."""
    return struct.pack(">H", 0xFFFF - (total % 0xFFFF or 0xFFFF))
