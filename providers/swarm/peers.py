"""Addresses of seeds: `ADDRESS:PORT` as a user writes them and as a tracker sends them."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from vmtrace.providers.endpoints import host_and_port
from vmtrace.providers.errors import UsageError

Peer = tuple[str, int]
_AT_ONCE = 16


def parsed_peers(words: Iterable[str]) -> list[Peer]:
    """Each `ADDRESS:PORT`, several with commas between; names are resolved. Raises `UsageError`."""
    found = [_parsed(part.strip()) for word in words for part in word.split(",") if part.strip()]
    return list(dict.fromkeys(found))


def reachable(peers: Sequence[Peer], timeout_s: float) -> list[Peer]:
    """Those that accept a TCP connection, in their order; asked some at a time."""
    if not peers:
        return []
    with ThreadPoolExecutor(min(len(peers), _AT_ONCE)) as pool:
        answers = pool.map(lambda peer: _accepts(peer, timeout_s), peers)
        return [peer for peer, there in zip(peers, answers, strict=True) if there]


def _accepts(peer: Peer, timeout_s: float) -> bool:
    try:
        with socket.create_connection(peer, timeout_s):
            return True
    except OSError:
        return False


def _parsed(text: str) -> Peer:
    found = host_and_port(text)
    if found is None:
        raise UsageError(f"--peers {text}: expected ADDRESS:PORT")
    host, port = found
    try:
        return str(ipaddress.ip_address(host)), port
    except ValueError:
        pass
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0]), port
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--peers {text}: the name cannot be resolved: {reason}") from error
