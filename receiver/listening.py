"""The listening socket: IPv4 and IPv6 at once where the system can, with errors a user understands."""

from __future__ import annotations

import errno
import socket

_BACKLOG = 4096  # a crowd of thousands a second must not make the kernel drop an honest SYN meanwhile


def listen(bind: str | None, port: int) -> socket.socket:
    """A non-blocking listening socket on `bind` (None: all addresses). Raises `OSError` with one clear line."""
    family, address = _where(bind, port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if bind is None else 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise OSError(error.errno, _reason(error, bind, port)) from error
    return sock


def _where(bind: str | None, port: int) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    if bind is None:
        if _has_ipv6():
            return socket.AF_INET6, ("::", port)
        return socket.AF_INET, ("0.0.0.0", port)
    try:
        found = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise OSError(errno.EADDRNOTAVAIL, f"cannot listen on {bind}: not an address of this host") from error
    return found[0][0], found[0][4]


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            sock.bind(("::", 0))
    except OSError:
        return False
    return True


def _reason(error: OSError, bind: str | None, port: int) -> str:
    where = f"{bind or 'this host'}, port {port}"
    if error.errno == errno.EADDRINUSE:
        return f"{where}: taken by another program: choose another --port, or end that program"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"cannot listen on {bind}: not an address of this host"
    if error.errno == errno.EACCES:
        return f"{where}: not allowed: ports below 1024 need root"
    return f"{where}: {error.strerror}"
