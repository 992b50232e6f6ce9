"""Echoes over real sockets: loopback, and a path of known delay between two hosts."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.lab import namespaces
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.hosts import HostSettings, Topology, joined_hosts
from vmtrace.lab.impairments import Impairments
from vmtrace.sender.ping import IcmpPing, TcpPing
from vmtrace.sender.wire.endpoint import Endpoint


def icmp(address: str) -> IcmpPing:
    try:
        return IcmpPing(Endpoint(address), address)
    except OSError as error:
        pytest.skip(f"no ICMP socket for this user: {error}")


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.root
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_icmp_echo_over_loopback_comes_back(address: str) -> None:
    if address == "::1" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 on this machine")
    ping = icmp(address)
    try:
        echoes = [ping.echo() for _ in range(3)]
    finally:
        ping.close()
    assert all(echo.rtt_s is not None and 0 < echo.rtt_s < 1 for echo in echoes)
    assert echoes[0].time_ns < echoes[2].time_ns


@pytest.mark.root
def test_the_rtt_is_that_of_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
    import vmtrace.sender.ping

    monkeypatch.setattr(vmtrace.sender.ping, "WAIT_S", 0.2)
    emulator = EmulatorSettings(Impairments(delay_s=0.02), Impairments(delay_s=0.02), 1)
    hosts = {"sender": HostSettings(), "receiver": HostSettings()}
    with (
        joined_hosts(Topology.TUN, 4, 1500, hosts, emulator, tmp_path) as path,
        namespaces.inside(path.hosts["sender"].namespace),
    ):
        there = icmp(path.hosts["receiver"].address)
        nowhere = icmp("198.18.2.77")
        tcp = TcpPing(Endpoint(path.hosts["receiver"].address, 1))
        found, lost, refused = there.echo(), nowhere.echo(), tcp.echo()
        there.close()
        nowhere.close()
    assert found.rtt_s is not None
    assert 0.04 <= found.rtt_s < 0.06
    assert lost.rtt_s is None
    assert refused.rtt_s is None


def test_a_tcp_handshake_is_timed_and_closed_at_once(listening: socket.socket) -> None:
    echo = TcpPing(Endpoint("127.0.0.1", listening.getsockname()[1])).echo()
    assert echo.rtt_s is not None
    assert 0 < echo.rtt_s < 1
    accepted, _ = listening.accept()
    with accepted:
        accepted.settimeout(5)
        assert accepted.recv(1) == b""


def test_a_receiver_that_refuses_or_has_no_address_loses_the_echo() -> None:
    assert TcpPing(Endpoint("127.0.0.1", 1)).echo().rtt_s is None
    assert TcpPing(Endpoint("no.such.host.invalid", 1)).echo().rtt_s is None


def test_who_may_have_no_socket_gets_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> socket.socket:
        raise PermissionError(1, os.strerror(1))

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(PermissionError):
        IcmpPing(Endpoint("127.0.0.1"), "127.0.0.1")
