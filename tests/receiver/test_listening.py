import errno
import os
import socket
from typing import Any

import pytest

from vmtrace.receiver.server import listen


def test_it_listens_for_both_versions() -> None:
    with listen(None, 0) as sock:
        port = sock.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), 2):
            pass
        assert (sock.family == socket.AF_INET6) == ipv6_is_here()
        if sock.family == socket.AF_INET6:
            with socket.create_connection(("::1", port), 2):
                pass


def ipv6_is_here() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize(
    ("error", "bind", "line"),
    [
        (errno.EACCES, None, "this host, port 80: not allowed: ports below 1024 need root"),
        (errno.EADDRINUSE, "::1", "::1, port 80: taken by another program: choose another --port, or end that program"),
        (errno.EADDRNOTAVAIL, "::1", "cannot listen on ::1: not an address of this host"),
        (errno.ENOBUFS, None, "this host, port 80: No buffer space available"),
    ],
)
def test_what_the_system_refuses_is_one_clear_line(
    error: int, bind: str | None, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused(socket.socket):
        def listen(self, _backlog: int = 0) -> None:
            raise OSError(error, os.strerror(error))

        def bind(self, address: Any) -> None:
            asked.append(address[1])

    asked = list[object]()
    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(OSError, match=r"port|address") as raised:
        listen(bind, 80)
    assert (raised.value.errno, raised.value.strerror) == (error, line)
    assert asked in ([80], [0, 80])


def test_a_taken_port_is_one_clear_line() -> None:
    with listen("127.0.0.1", 0) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1, port {port}: taken by another program: choose another --port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("bind", ["198.18.99.99", "no such host", "a" * 70])
def test_an_address_that_is_not_ours_is_one_clear_line(bind: str) -> None:
    with pytest.raises(OSError, match=f"cannot listen on {bind}: not an address of this host"):
        listen(bind, 0)


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6")
def test_all_addresses_of_ipv6_are_none_of_ipv4() -> None:
    with listen("::", 0) as sock:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", sock.getsockname()[1]), 2)
        with socket.create_connection(("::1", sock.getsockname()[1]), 2):
            pass
