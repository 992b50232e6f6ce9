"""A control connection after ACCEPT: TLS 1.3 on it, then both sides have bound the certificate to the shared key.

The sender checks that the receiver's proof covers the certificate that TLS has shown. Then it sends its own word, which
only the session's key gives: the receiver knows by it that the sender has seen this certificate and no other.
Standard library only; Python 3.9.
"""

from __future__ import annotations

import hmac
import socket
import ssl
import time

from vmtrace.sender.wire import handshake, tls
from vmtrace.sender.wire.channel import receive_exactly, send_all
from vmtrace.sender.wire.errors import KeyRefused
from vmtrace.sender.wire.keys import derive

SEEN_BYTES = 32


def secure_sender(
    sock: socket.socket, key: bytes, said: tuple[bytes, bytes, bytes], timeout_s: float, peer: str
) -> tuple[ssl.SSLSocket, bytes]:
    """The socket in TLS and the session's key, after HELLO, AUTH and ACCEPT were `said`.

    Raises the `WireError` that says why not; `sock` is then to be closed by the caller, also in its TLS form.
    """
    hello, auth, accept = said
    handshake.check_status(accept, peer)
    wrapped = tls.client_wrap(sock, ssl.TLSVersion.TLSv1_3)
    try:
        tls.handshake(wrapped, timeout_s)
        certificate = tls.shown_certificate(wrapped)
        handshake.check_accept(key, hello, auth, accept, peer, certificate)
        session = handshake.session_key(key, hello, auth, certificate)
        send_all(wrapped, _seen(session), timeout_s, peer)
    except BaseException:
        wrapped.close()
        raise
    return wrapped, session


def secure_receiver(wrapped: ssl.SSLSocket, session: bytes, timeout_s: float, peer: str) -> None:
    """The receiver's side of it, on a socket that is wrapped already. Raises the `WireError` that says why not."""
    tls.handshake(wrapped, timeout_s)
    word = receive_exactly(wrapped, SEEN_BYTES, time.monotonic() + timeout_s, peer)
    if not hmac.compare_digest(word, _seen(session)):
        raise KeyRefused(f"{peer} has seen another certificate: someone is in the middle")


def _seen(session: bytes) -> bytes:
    return derive(session, b"vmtrace 2 certificate seen")
