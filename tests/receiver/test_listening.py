import socket

import pytest

from vmtrace.receiver.listening import listen


def test_it_listens_for_both_versions() -> None:
    with listen(None, 0) as sock:
        port = sock.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), 2):
            pass
        if sock.family == socket.AF_INET6:
            with socket.create_connection(("::1", port), 2):
                pass


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
