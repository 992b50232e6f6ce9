"""Name lookups of a campaign: asked anew for every request, with the addresses and the TTL of the reply.

The C library's resolver returns no TTL. While `Resolver` is entered, lookups of threads that asked for it (`listen`)
are made with dnspython, by the servers of resolv.conf: A first, AAAA where there is no A. Literal addresses, names of
/etc/hosts, and whatever dnspython cannot resolve go to the C library, with no TTL.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vmtrace.providers.clock import REAL, Clock

_LIFETIME_S = 5.0
_HOSTS = Path("/etc/hosts")


@dataclass(frozen=True, slots=True)
class NameLookup:
    """One lookup; `ttl_s` is None where the resolver did not say."""

    name: str
    addresses: tuple[str, ...]
    ttl_s: int | None
    time_ns: int
    took_s: float

    def as_record(self) -> dict[str, Any]:
        """For a line of JSON."""
        record = {name: getattr(self, name) for name in self.__slots__}
        return {**record, "addresses": list(self.addresses)}


class Resolver:
    """Replaces `socket.getaddrinfo` while it is entered; other threads than those that listen notice nothing."""

    def __init__(self, clock: Clock = REAL) -> None:
        self._clock = clock
        self._seen = threading.local()
        self._dns = _dnspython()
        self._hosts = _hosts()

    def listen(self) -> None:
        """Lookups of this thread are asked anew and kept from now on."""
        self._seen.lookups = []

    def collected(self) -> list[NameLookup]:
        """The lookups of this thread since `listen`; it listens no longer."""
        found: list[NameLookup] = getattr(self._seen, "lookups", None) or []
        self._seen.lookups = None
        return found

    def __enter__(self) -> Self:
        self._original = socket.getaddrinfo
        socket.getaddrinfo = self._getaddrinfo
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        socket.getaddrinfo = self._original

    def _getaddrinfo(self, host: Any, port: Any, *more: Any, **named: Any) -> list[Any]:
        lookups = getattr(self._seen, "lookups", None)
        if lookups is None or not isinstance(host, str) or _is_literal(host):
            return self._original(host, port, *more, **named)
        time_ns, began_ns = self._clock.wall_ns(), self._clock.elapsed_ns()
        found, ttl_s = self._asked(host)
        if found:
            answer = [one for address in found for one in self._original(address, port, *more, **named)]
        else:
            answer = self._original(host, port, *more, **named)
        addresses = tuple(dict.fromkeys(str(one[4][0]) for one in answer))
        took_s = (self._clock.elapsed_ns() - began_ns) / 1e9
        lookups.append(NameLookup(host, addresses, ttl_s, time_ns, took_s))
        return answer

    def _asked(self, host: str) -> tuple[list[str], int | None]:
        if self._dns is None or host.lower().rstrip(".") in self._hosts:
            return [], None
        from dns.exception import DNSException

        for kind in ("A", "AAAA"):
            try:
                answer = self._dns.resolve(host, kind, search=True, raise_on_no_answer=False, lifetime=_LIFETIME_S)
            except (DNSException, OSError):
                return [], None
            if answer.rrset is not None:
                return [str(one) for one in answer], int(answer.chaining_result.minimum_ttl)
        return [], None


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _dnspython() -> Any:
    """None where it is not installed, or there is no resolv.conf to go by."""
    try:
        from dns.exception import DNSException
        from dns.resolver import Resolver as DnsResolver
    except ModuleNotFoundError:
        return None
    try:
        return DnsResolver()
    except (DNSException, OSError):
        return None


def _hosts() -> frozenset[str]:
    """Names that /etc/hosts knows, in small letters."""
    try:
        lines = _HOSTS.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    words = [line.partition("#")[0].split()[1:] for line in lines]
    return frozenset(name.lower() for names in words for name in names) | {"localhost"}
