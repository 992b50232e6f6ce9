"""The plain pcap reader that checks the lab's own captures."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.lab.packets import tcp_packet
from vmtrace.lab.pcap_file import read_packets


def test_microsecond_files_and_torn_ends_are_read(tmp_path: Path) -> None:
    ip = bytes.fromhex("45000028000000004006000001020304050607080001000200000007000000005002ffff00000000")
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 101)
    record = struct.pack("<IIII", 5, 7, len(ip), len(ip)) + ip
    (tmp_path / "a.pcap").write_bytes(head + record + record[:10])
    (packet,) = read_packets(tmp_path / "a.pcap")
    assert (packet.time_ns, packet.seq, packet.flags, packet.payload_bytes) == (5_000_007_000, 7, 2, 0)


@pytest.mark.parametrize("version", [4, 6])
def test_lengths_come_from_the_ip_header_and_not_from_what_was_captured(tmp_path: Path, version: int) -> None:
    packet = tcp_packet(9, 700, tsval=1, version=version)
    frame = bytes(14) + packet
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1)
    (tmp_path / "a.pcap").write_bytes(head + struct.pack("<IIII", 1, 2, 96, len(frame)) + frame[:96])
    (seen,) = read_packets(tmp_path / "a.pcap")
    assert (seen.time_ns, seen.payload_bytes, seen.ip_bytes) == (1_000_000_002, 700, len(packet))


def test_other_protocols_are_left_out(tmp_path: Path) -> None:
    packet = bytearray(tcp_packet(9, 10))
    packet[9] = 17
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 101)
    (tmp_path / "a.pcap").write_bytes(head + struct.pack("<IIII", 1, 2, len(packet), len(packet)) + packet)
    assert list(read_packets(tmp_path / "a.pcap")) == []
