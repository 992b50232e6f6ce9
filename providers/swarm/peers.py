"""Addresses of seeds: `ADDRESS:PORT` as a user writes them and as a tracker sends them."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

from providers.errors import UsageError

Peer = tuple[str, int]


def parsed_peers(words: Iterable[str]) -> list[Peer]:
    """Each `ADDRESS:PORT`, several with commas between; names are resolved. Raises `UsageError`."""
    found = [_parsed(part.strip()) for word in words for part in word.split(",") if part.strip()]
    return list(dict.fromkeys(found))


def shown_peer(peer: Peer) -> str:
    """As addresses stand in reports: `198.18.1.1:6881`, `[fd00::1]:6881`."""
    address, port = peer
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def is_own_address(address: str) -> bool:
    """Whether this host has the address: only then can a socket be bound to it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _parsed(text: str) -> Peer:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65_536:
        raise UsageError(f"--peers {text}: ADDRESS:PORT is due")
    host = host.strip("[]")
    try:
        return str(ipaddress.ip_address(host)), int(port)
    except ValueError:
        pass
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0]), int(port)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--peers {text}: the name cannot be resolved: {reason}") from error
