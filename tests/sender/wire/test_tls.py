import socket
import threading
import time
from collections.abc import Iterator

import pytest

from vmtrace.receiver.certificate import Certificate, own_certificate
from vmtrace.sender.wire.endpoint import give_up_after, shut_down
from vmtrace.sender.wire.errors import KeyRefused, ReceiverGone
from vmtrace.sender.wire.tls import check_certificate, client_wrap, handshake, server_wrap


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return own_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as ours:
        theirs, _ = listener.accept()
        with theirs:
            yield ours, theirs


def test_both_ends_shake_hands_and_the_certificate_is_the_announced_one(
    pair: tuple[socket.socket, socket.socket], certificate: Certificate
) -> None:
    with client_wrap(pair[0]) as ours, server_wrap(pair[1], certificate.transfers) as theirs:
        other = threading.Thread(target=handshake, args=(theirs, 5))
        other.start()
        facts = handshake(ours, 5)
        other.join()
        assert facts.version == "TLSv1.3"
        assert facts.cipher.startswith("TLS_")
        assert facts.handshake_s > 0
        check_certificate(ours, certificate.sha256)
        with pytest.raises(KeyRefused, match="may be intercepted"):
            check_certificate(ours, "0" * 64)
        ours.sendall(b"x")
        assert theirs.recv(1) == b"x"


def test_silence_ends_the_handshake_in_time(pair: tuple[socket.socket, socket.socket]) -> None:
    with client_wrap(pair[0]) as ours, pytest.raises(ReceiverGone, match="the TLS handshake failed"):
        handshake(ours, 0.1)


def test_a_handshake_that_waits_can_be_given_up_by_another_thread(pair: tuple[socket.socket, socket.socket]) -> None:
    with client_wrap(pair[0]) as ours:
        threading.Timer(0.1, shut_down, (ours,)).start()
        began_s = time.monotonic()
        with pytest.raises(ReceiverGone, match="the TLS handshake failed"):
            handshake(ours, 10)
        assert time.monotonic() - began_s < 8


def test_garbage_is_no_handshake(pair: tuple[socket.socket, socket.socket], certificate: Certificate) -> None:
    with server_wrap(pair[1], certificate.transfers) as theirs:
        pair[0].sendall(b"GET / HTTP/1.0\r\n\r\n")
        with pytest.raises(ReceiverGone, match=r"the TLS handshake failed: HTTP_REQUEST$"):
            handshake(theirs, 5)


def test_a_connection_that_is_over_is_never_used_in_the_clear(
    pair: tuple[socket.socket, socket.socket], certificate: Certificate
) -> None:
    pair[0].close()
    with pytest.raises(ReceiverGone), server_wrap(pair[1], certificate.transfers) as theirs:
        handshake(theirs, 1)


def test_ending_a_connection_from_another_thread_does_not_open_it(
    pair: tuple[socket.socket, socket.socket], certificate: Certificate
) -> None:
    with client_wrap(pair[0]) as ours, server_wrap(pair[1], certificate.transfers) as theirs:
        other = threading.Thread(target=handshake, args=(theirs, 5))
        other.start()
        handshake(ours, 5)
        other.join()
        give_up_after(ours, 5)
        shut_down(ours)
        assert ours.version() == "TLSv1.3"
        with pytest.raises(OSError, match=r"Broken pipe|EOF|\[SSL"):
            ours.sendall(b"secret" * 100_000)
        shut_down(theirs)
