"""TLS on data connections. The certificate is made by the receiver for itself alone and known by its digest, which the
authenticated control connection carries: no certificate authority is asked, and none could be deceived."""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
import time
from dataclasses import dataclass

from sender.wire.errors import KeyRefused, ReceiverGone


@dataclass(frozen=True)
class TlsFacts:
    """What TLS agreed on, and how long that took."""

    version: str
    cipher: str
    handshake_s: float


def client_tls(sock: socket.socket, certificate_sha256: str, stall_s: float) -> tuple[ssl.SSLSocket, TlsFacts]:
    """Wrap a connected socket. Raises `KeyRefused` when the certificate is not the announced one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    wrapped, facts = _handshake(context, sock, stall_s, server=False)
    shown = hashlib.sha256(wrapped.getpeercert(binary_form=True) or b"").hexdigest()
    if not hmac.compare_digest(shown, certificate_sha256):
        wrapped.close()
        raise KeyRefused("the receiver's certificate is not the one it announced: someone is in between")
    return wrapped, facts


def server_tls(sock: socket.socket, context: ssl.SSLContext, stall_s: float) -> ssl.SSLSocket:
    """Wrap an accepted socket."""
    return _handshake(context, sock, stall_s, server=True)[0]


def _handshake(
    context: ssl.SSLContext, sock: socket.socket, stall_s: float, *, server: bool
) -> tuple[ssl.SSLSocket, TlsFacts]:
    began_s = time.monotonic()
    sock.settimeout(stall_s)
    try:
        wrapped = context.wrap_socket(sock, server_side=server)
    except OSError as error:
        raise ReceiverGone(f"the TLS handshake failed: {getattr(error, 'reason', None) or error}") from error
    wrapped.settimeout(None)
    cipher = wrapped.cipher()
    name = cipher[0] if cipher else "unknown"
    return wrapped, TlsFacts(wrapped.version() or "unknown", name, time.monotonic() - began_s)
