"""A tap on the path sees each way of a conversation earlier or later than the capture at the path's edge."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from vmtrace.lab.accuracy.middle import tapped
from vmtrace.lab.edit.capture import Capture, Frame, parse_capture, pcap_bytes

MS = 1_000_000
RAW_IP, ETHERNET = 101, 1


def ipv4(source: bytes) -> bytes:
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, source, bytes([192, 0, 2, 9])) + bytes(20)


@pytest.mark.parametrize(("link_type", "header"), [(RAW_IP, b""), (ETHERNET, bytes(14))])
def test_data_passes_a_tap_before_the_receiver_and_answers_after_it(
    tmp_path: Path, link_type: int, header: bytes
) -> None:
    data, answer = header + ipv4(bytes([192, 0, 2, 1])), header + ipv4(bytes([192, 0, 2, 2]))
    frames = (Frame(1, 100 * MS, 54, data), Frame(2, 101 * MS, 54, answer), Frame(3, 105 * MS, 54, data))
    edge = tmp_path / "edge.pcap"
    edge.write_bytes(pcap_bytes(Capture(link_type, 128, frames)))
    moved = parse_capture(tapped(edge, "192.0.2.1", -0.010))
    assert [(frame.time_ns // MS, frame.content) for frame in moved.frames] == [(90, data), (95, data), (111, answer)]


def test_the_sender_of_ipv6_packets_is_known_too(tmp_path: Path) -> None:
    packet = b"\x60" + bytes(7) + bytes(15) + b"\x01" + bytes(15) + b"\x02" + bytes(20)
    edge = tmp_path / "edge.pcap"
    edge.write_bytes(pcap_bytes(Capture(RAW_IP, 128, (Frame(1, 100 * MS, 60, packet),))))
    assert parse_capture(tapped(edge, "::1", 0.010)).frames[0].time_ns == 110 * MS
    assert parse_capture(tapped(edge, "::2", 0.010)).frames[0].time_ns == 90 * MS
