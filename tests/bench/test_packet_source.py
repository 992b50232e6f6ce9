"""The source sends what it says it sent, at the rate it was told."""

import socket

import pytest

from bench import packet_source


def test_every_packet_arrives_cut_to_mtu_size() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        try:
            sender.setsockopt(socket.IPPROTO_UDP, packet_source._UDP_SEGMENT, packet_source.PAYLOAD_BYTES)
        except OSError:
            pytest.skip("this kernel does not cut up UDP messages (Linux 4.18)")
        sender.connect(receiver.getsockname())
        packets, duration_s = packet_source.send(sender, rate=440, seconds=0.2)
        sizes = {len(receiver.recv(65_536)) for _ in range(packets)}
    assert packets == 88
    assert sizes == {packet_source.PAYLOAD_BYTES}
    assert 0.1 <= duration_s < 5
