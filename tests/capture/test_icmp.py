"""ICMP echoes over loopback. On a path of known delay: tests/sender/test_ping.py."""

from __future__ import annotations

import socket
import struct
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.capture.icmp import PAYLOAD_BYTES, EchoSocket, internet_checksum


@pytest.mark.root
@pytest.mark.untimed
def test_echoes_of_others_are_not_taken_for_ours() -> None:
    try:
        ours, others = EchoSocket("127.0.0.1"), EchoSocket("127.0.0.1")
    except OSError as error:
        pytest.skip(f"no ICMP socket for this user: {error}")
    with closing(ours), closing(others):
        others._socket.sendto(others.message(b"x" * PAYLOAD_BYTES), ("127.0.0.1", 0))
        rtt_s = ours.rtt_s(2.0)
    assert rtt_s is not None
    assert 0 < rtt_s < 2.0


def test_a_socket_that_cannot_be_bound_is_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []

    def datagram(family: int, _kind: int, _protocol: int) -> socket.socket:
        made.append(real(family, socket.SOCK_DGRAM))
        return made[-1]

    real = socket.socket
    monkeypatch.setattr(socket, "socket", datagram)
    with pytest.raises(OSError, match=r"."):
        EchoSocket("127.0.0.1", bind_address="192.0.2.1")
    assert [one.fileno() for one in made] == [-1]


@given(st.binary(max_size=100))
def test_a_message_with_its_checksum_sums_up_to_nothing(data: bytes) -> None:
    even = data + b"\0" * (len(data) % 2)
    assert internet_checksum(even + struct.pack("!H", internet_checksum(even))) in {0, 0xFFFF}


def test_the_checksum_of_the_rfc() -> None:
    # RFC 1071, section 3: the sum of 0001 f203 f4f5 f6f7 is ddf2.
    assert internet_checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2
