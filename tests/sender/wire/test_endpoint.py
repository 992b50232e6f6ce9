import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from vmtrace.sender.wire.endpoint import (
    Address,
    Endpoint,
    connect,
    give_up_after,
    keep_alive,
    name_of,
    plain_host,
    resolve,
    shut_down,
)  # fmt: skip
from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.socket_options import SocketOptions


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


def to(listener: socket.socket, **named: object) -> Endpoint:
    return Endpoint("127.0.0.1", listener.getsockname()[1], **named)  # type: ignore[arg-type]


def test_options_are_set_before_the_connection(listener: socket.socket) -> None:
    options = SocketOptions("reno", 65536, 32768, 10, 1200)
    endpoint = to(listener, bind_address="127.0.0.3")
    with connect(endpoint, resolve(endpoint), options, 5) as sock:
        assert sock.getsockname()[0] == "127.0.0.3"
        assert sock.getsockname()[1] >= 1024
        assert sock.getsockopt(socket.IPPROTO_TCP, 13, 16).split(b"\0")[0] == b"reno"
        assert sock.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == 40
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * 65536
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert sock.gettimeout() is None


def test_a_closed_port_is_explained(listener: socket.socket) -> None:
    endpoint = to(listener)
    listener.close()
    with pytest.raises(ReceiverGone, match="Connection refused: is the receiver running, and the port open"):
        connect(endpoint, resolve(endpoint), SocketOptions(), 5)


def test_a_name_that_is_not_valid_is_explained() -> None:
    with pytest.raises(ReceiverGone, match=r"no address for IPv6 \((?!\[Errno)"):
        resolve(Endpoint("127.0.0.1", ip_version=6))
    with pytest.raises(ReceiverGone, match="no address"):
        resolve(Endpoint("a" * 70 + ".invalid"))


@pytest.mark.parametrize(("version", "family"), [(4, socket.AF_INET), (6, socket.AF_INET6)])
def test_a_version_that_is_asked_for_is_the_one(version: int, family: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def both(host: str, port: int, family: int, _kind: int) -> list[tuple[object, ...]]:
        asked.append(family)
        return [(family, 0, 0, "", (host, port))]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert resolve(Endpoint("a.invalid", ip_version=version)) == Address(family, ("a.invalid", 5810))
    assert asked == [family]


def test_what_is_missing_of_an_address_or_too_much_is_reported() -> None:
    with pytest.raises(ReceiverGone, match="on an interface: write fe80::1%eth0"):
        resolve(Endpoint("fe80::1"))
    assert resolve(Endpoint("fe80::1%lo")).socket_address[-1] == socket.if_nametoindex("lo")
    assert resolve(Endpoint("fe80::1", bind_interface="lo")).host == "fe80::1"
    assert resolve(Endpoint("::1")).host == "::1"
    with pytest.raises(ReceiverGone, match=r"no address \(.*\): the port goes by --port 5911$"):
        resolve(Endpoint("127.0.0.1:5911"))


def test_an_address_that_is_not_ours_is_named(listener: socket.socket) -> None:
    endpoint = to(listener, bind_address="198.18.77.77")
    with pytest.raises(OSError, match=r"cannot send from 198\.18\.77\.77"):
        connect(endpoint, resolve(endpoint), SocketOptions(), 5)
    endpoint = to(listener, bind_interface="nosuch0")
    with pytest.raises(OSError, match="cannot use interface nosuch0"):
        connect(endpoint, resolve(endpoint), SocketOptions(), 5)


def full_listener() -> tuple[socket.socket, list[socket.socket]]:
    """A listener whose queue is full: a further SYN gets no answer."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    waiting = []
    for _ in range(3):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(listener.getsockname())
        waiting.append(sock)
    time.sleep(0.05)
    return listener, waiting


def test_a_connection_that_waits_can_be_given_up_by_another_thread() -> None:
    listener, waiting = full_listener()
    kept: list[socket.socket] = []
    timer = threading.Timer(0.2, lambda: shut_down(kept[0]))
    timer.start()
    began_s = time.monotonic()
    with pytest.raises(ReceiverGone):
        connect(to(listener), Address(socket.AF_INET, listener.getsockname()), SocketOptions(), 10, keep=kept.append)
    assert time.monotonic() - began_s < 8
    timer.join()
    for sock in (listener, *waiting):
        sock.close()


def test_no_answer_is_explained() -> None:
    listener, waiting = full_listener()
    with pytest.raises(ReceiverGone, match="no reply within 0.1 s: is the receiver running, and the port open"):  # noqa: RUF043
        connect(to(listener), Address(socket.AF_INET, listener.getsockname()), SocketOptions(), 0.1)
    for sock in (listener, *waiting):
        sock.close()


def test_a_time_without_bytes_ends_a_blocking_call(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as sock:
        give_up_after(sock, 1.25)
        seconds, rest_us = struct.unpack("@ll", sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16))
        assert 1.25 <= seconds + rest_us / 1e6 < 1.27  # in ticks of the kernel
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16) == struct.pack("@ll", seconds, rest_us)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1250
        give_up_after(sock, 0.05)
        with pytest.raises(BlockingIOError):
            sock.recv(1)
        for silence_s, interval_s in ((20, 10), (1, 1)):
            keep_alive(sock, silence_s)
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == silence_s
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == interval_s
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 4
        shut_down(sock)
        shut_down(sock)
    shut_down(sock)


def test_addresses_have_their_usual_form() -> None:
    assert name_of(("::ffff:198.18.0.1", 5, 0, 0)) == "198.18.0.1:5"
    assert name_of(("fd00::1", 5, 0, 0)) == "[fd00::1]:5"
    assert str(Endpoint("fd00::1")) == "[fd00::1]:5810"
    assert plain_host("::ffff:198.18.0.1") == "198.18.0.1"
    assert plain_host("fe80::1%eth0") == "fe80::1"
    for plain in ("198.18.0.1", "::ffff:1:2"):
        assert plain_host(plain) == plain
