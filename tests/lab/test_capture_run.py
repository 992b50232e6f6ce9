"""A capture has every packet from the moment it is started to the moment it is stopped, and knows when not."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.lab import namespaces
from vmtrace.lab.capture_run import Capture, CaptureHealth, capturing
from vmtrace.lab.fate_log import FLAG_SYN
from vmtrace.lab.pcap_file import read_packets


@pytest.fixture
def host(real_hosts: None) -> Iterator[str]:
    """A namespace with a TUN device on which everything that is sent is seen, and nothing answers."""
    name = namespaces.namespace_name("capture", 0)
    namespaces.create(name)
    device = namespaces.open_tun(name, "tun0")
    namespaces.run_program(["ip", "-n", name, "address", "add", "198.18.9.1/24", "dev", "tun0"])
    namespaces.run_program(["ip", "-n", name, "link", "set", "tun0", "up"])
    yield name
    os.close(device)
    namespaces.delete(name)


def test_nothing_is_missing_at_either_end(host: str, tmp_path: Path) -> None:
    with capturing({"only": (host, "tun0", tmp_path / "a.pcap")}, 96) as captures:
        with namespaces.inside(host):
            sockets = [socket.socket() for _ in range(20)]
        for sock in sockets:
            sock.setblocking(False)
            sock.connect_ex(("198.18.9.2", 9))
            sock.close()
        health = captures["only"].stop()
    packets = list(read_packets(tmp_path / "a.pcap"))
    assert health.whole
    assert health.captured == len(packets) == 20
    assert all(packet.flags == FLAG_SYN for packet in packets)


def test_a_device_that_is_not_there_is_named(host: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="nothere"):
        Capture(host, "nothere", tmp_path / "a.pcap", 96)


@pytest.mark.parametrize("counts", [(9, 10, 0, 0), (10, 10, 1, 0), (10, 10, 0, 1)])
def test_any_missing_packet_makes_a_capture_not_whole(counts: tuple[int, int, int, int]) -> None:
    assert CaptureHealth(10, 10, 0, 0).whole
    assert not CaptureHealth(*counts).whole
