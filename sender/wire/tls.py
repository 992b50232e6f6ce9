"""TLS on control and data connections. The certificate is made by the receiver for itself alone and known by its
digest, which the proofs of the shared key cover: no certificate authority is asked, and none could be deceived.

Wrapping and handshake are apart, so that whoever must end a connection has the wrapped socket before it waits.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
import time
from dataclasses import dataclass

from vmtrace.sender.wire.errors import KeyRefused, ReceiverGone


@dataclass(frozen=True)
class TlsFacts:
    """What TLS agreed on, and how long that took."""

    version: str
    cipher: str
    handshake_s: float


def client_wrap(sock: socket.socket, least: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> ssl.SSLSocket:
    """The connected socket of a sender for TLS; nothing is sent yet, and `sock` itself is of no more use."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = least
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # `check_certificate` knows better than an authority
    return _wrap(context, sock, server=False)


def server_wrap(sock: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
    """The connected socket of a receiver for TLS, likewise."""
    return _wrap(context, sock, server=True)


def handshake(wrapped: ssl.SSLSocket, timeout_s: float) -> TlsFacts:
    """Do the TLS handshake; leaves the socket in blocking mode. Raises `ReceiverGone` when it fails."""
    began_s = time.monotonic()
    try:
        wrapped.settimeout(timeout_s)
        wrapped.do_handshake()
        wrapped.settimeout(None)
    except (OSError, ValueError) as error:
        raise ReceiverGone(f"the TLS handshake failed: {_reason(error)}") from error
    cipher = wrapped.cipher()
    name = cipher[0] if cipher else "unknown"
    return TlsFacts(wrapped.version() or "unknown", name, time.monotonic() - began_s)


def check_certificate(wrapped: ssl.SSLSocket, certificate_sha256: str) -> None:
    """Raise `KeyRefused` when the certificate that was shown is not the announced one."""
    if not hmac.compare_digest(shown_certificate(wrapped).hex(), certificate_sha256):
        raise KeyRefused("the receiver's certificate is not the one it announced: the connection may be intercepted")


def shown_certificate(wrapped: ssl.SSLSocket) -> bytes:
    """SHA-256 of the certificate that the other side has shown."""
    return hashlib.sha256(wrapped.getpeercert(binary_form=True) or b"").digest()


def _wrap(context: ssl.SSLContext, sock: socket.socket, *, server: bool) -> ssl.SSLSocket:
    try:
        return context.wrap_socket(sock, server_side=server, do_handshake_on_connect=False)
    except (OSError, ValueError) as error:
        raise ReceiverGone(f"the TLS handshake failed: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)
