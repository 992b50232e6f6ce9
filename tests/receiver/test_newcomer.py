import socket
from collections.abc import Iterator

import pytest

from vmtrace.receiver.newcomer import Newcomer, greet
from vmtrace.sender.wire import handshake as hs


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, Newcomer]]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        sock, _ = listener.accept()
        with sock:
            hello = greet(sock)
            assert hello is not None
            assert client.recv(100) == hello
            yield client, Newcomer(sock, "127.0.0.1", "127.0.0.1", "4/7f0000", hello, 1.0)


def test_an_auth_in_pieces_is_put_together_and_nothing_beyond_is_read(pair: tuple[socket.socket, Newcomer]) -> None:
    client, newcomer = pair
    assert newcomer.read() is None
    client.sendall(b"a" * 100)
    assert newcomer.read() is None
    client.sendall(b"b" * 12 + b"payload")
    assert newcomer.read() is True
    assert newcomer.auth == b"a" * 100 + b"b" * 12
    assert len(newcomer.auth) == hs.AUTH_BYTES
    assert newcomer.socket.recv(100) == b"payload"


def test_an_end_or_a_reset_is_an_end(pair: tuple[socket.socket, Newcomer]) -> None:
    client, newcomer = pair
    client.sendall(b"a" * 50)
    client.close()
    newcomer.read()
    assert newcomer.read() is False


def test_a_connection_that_is_over_cannot_be_greeted() -> None:
    sock = socket.socket()
    sock.close()
    assert greet(sock) is None
