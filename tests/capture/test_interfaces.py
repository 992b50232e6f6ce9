"""The interface of a route is the one that `ip route get` names."""

from __future__ import annotations

import shutil
import socket
import subprocess

import pytest

from tests.capture.traffic import inside
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interfaces import interface_lines, interface_towards, no_such_interface


@pytest.mark.parametrize("address", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_own_addresses_are_reached_by_loopback(address: str) -> None:
    assert interface_towards(address) == "lo"


@pytest.mark.root
@pytest.mark.untimed
def test_the_route_decides_in_the_namespace_of_the_thread(veth: tuple[str, str]) -> None:
    with inside(veth[0]):
        assert interface_towards("198.18.7.2") == "veth0"
        assert interface_towards("fd00:18:7::2") == "veth0"
        assert interface_towards("198.18.7.1") == "lo"
        assert interface_towards("fe80::1%veth0") == "veth0"
        with pytest.raises(CaptureError, match=r"198\.51\.100\.1: there is no route to it: Network is unreachable"):
            interface_towards("198.51.100.1")


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_it_is_what_ip_says(address: str) -> None:
    if shutil.which("ip") is None:
        pytest.skip("needs ip")
    said = subprocess.run(["ip", "route", "get", address], check=False, capture_output=True, text=True)
    if said.returncode != 0:
        with pytest.raises(CaptureError, match="no route"):
            interface_towards(address)
    else:
        words = said.stdout.split()
        assert interface_towards(address) == words[words.index("dev") + 1]


def test_a_name_that_means_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(CaptureError, match="nonesuch: its interface cannot be found"):
        interface_towards("nonesuch")


def test_a_wrong_name_is_answered_with_the_right_ones() -> None:
    line = no_such_interface("none7")
    assert line.startswith("there is no interface none7; there are ")
    assert "lo" in line
    assert line.endswith("and any")


def test_the_list_says_what_state_they_are_in() -> None:
    [loopback] = [line for line in interface_lines() if line.split()[0] == "lo"]
    assert loopback.endswith("up, loopback")
