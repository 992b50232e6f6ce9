"""Echoes to front ends."""

import socket

import pytest

from vmtrace.providers.round_trips import ICMP, TCP, addresses_of, echoes, icmp_rtt_s, tcp_rtt_s


def test_a_handshake_takes_a_moment_and_one_that_is_refused_takes_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        rtt_s = tcp_rtt_s("127.0.0.1", port)
    assert rtt_s is not None
    assert 0 < rtt_s < 2
    assert tcp_rtt_s("127.0.0.1", port) is None


@pytest.mark.root
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_icmp_echo_comes_back(address: str) -> None:
    try:
        rtt_s = icmp_rtt_s(address)
    except OSError:
        assert address == "::1"  # a machine without IPv6
        return
    assert rtt_s is not None
    assert 0 < rtt_s < 2


def test_each_front_end_is_asked_by_both_kinds() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        port = server.getsockname()[1]
        found = list(echoes([("127.0.0.1", port)], 3))
    assert [echo.method for echo in found if echo.method == TCP] == [TCP] * 3
    assert len([echo for echo in found if echo.method == ICMP]) in {0, 3}
    assert {(echo.front_end, echo.port) for echo in found} == {("127.0.0.1", port)}


def test_one_that_does_not_answer_is_asked_once() -> None:
    tcp = [echo for echo in echoes([("127.0.0.1", 1)], 5) if echo.method == TCP]
    assert [echo.rtt_s for echo in tcp] == [None]


def test_names_have_addresses_or_none() -> None:
    assert addresses_of("127.0.0.1", 443) == ["127.0.0.1"]
    assert addresses_of("nowhere.invalid", 443) == []
