"""The two sides of a control connection's TLS; with a whole receiver: tests/receiver/test_hostile.py."""

import secrets
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.receiver.certificate import Certificate, own_certificate
from vmtrace.sender.wire import handshake
from vmtrace.sender.wire.errors import KeyRefused, ReceiverBusy, WireError
from vmtrace.sender.wire.secrecy import secure_receiver, secure_sender
from vmtrace.sender.wire.tls import server_wrap

KEY = secrets.token_bytes(32)


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return own_certificate(tmp_path)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def talk(
    pair: tuple[socket.socket, socket.socket], certificate: Certificate, key: bytes, proved: bytes, known: bytes
) -> tuple[ssl.SSLSocket | WireError, WireError | None]:
    """What becomes of it at the sender and at the receiver; its ACCEPT proves one certificate, its session another."""
    hello = handshake.new_hello()
    auth = handshake.new_auth(KEY, hello, handshake.CONTROL)
    accept = handshake.new_accept(key, hello, auth, proved)
    troubles: list[WireError] = []

    def receive() -> None:
        with server_wrap(pair[1], certificate.control) as wrapped:
            try:
                secure_receiver(wrapped, handshake.session_key(key, hello, auth, known), 5, "it")
            except WireError as error:
                troubles.append(error)

    thread = threading.Thread(target=receive)
    thread.start()
    try:
        wrapped, session = secure_sender(pair[0], KEY, (hello, auth, accept), 5, "it")
        assert session == handshake.session_key(KEY, hello, auth, certificate.digest)
        assert wrapped.version() == "TLSv1.3"
        wrapped.close()
        ours: ssl.SSLSocket | WireError = wrapped
    except WireError as error:
        ours = error
    thread.join(10)
    return ours, troubles[0] if troubles else None


def test_both_sides_agree_on_the_certificate_that_is_shown(
    pair: tuple[socket.socket, socket.socket], certificate: Certificate
) -> None:
    ours, theirs = talk(pair, certificate, KEY, certificate.digest, certificate.digest)
    assert isinstance(ours, ssl.SSLSocket)
    assert theirs is None


@pytest.mark.parametrize("proved", [b"", bytes(32)])
def test_a_proof_of_another_certificate_is_refused_by_the_sender(
    proved: bytes, pair: tuple[socket.socket, socket.socket], certificate: Certificate
) -> None:
    ours, theirs = talk(pair, certificate, KEY, proved, proved)
    assert isinstance(ours, KeyRefused)
    assert theirs is not None


def test_a_sender_that_has_seen_another_certificate_is_refused_by_the_receiver(
    pair: tuple[socket.socket, socket.socket], certificate: Certificate
) -> None:
    _, theirs = talk(pair, certificate, KEY, certificate.digest, bytes(32))
    assert isinstance(theirs, KeyRefused)
    assert "has seen another certificate" in str(theirs)


def test_a_refusal_needs_no_tls(pair: tuple[socket.socket, socket.socket]) -> None:
    said = (bytes(48), bytes(112), handshake.new_refusal(handshake.REFUSED_BUSY))
    with pytest.raises(ReceiverBusy):
        secure_sender(pair[0], KEY, said, 1, "it")
