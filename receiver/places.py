"""The places of connections that have not proven the key: who waits, who is late, and who gives way when all are taken.

Descriptors and instants are given. The most crowded network gives way first (an IPv4 /24, an IPv6 /48), its oldest
connection before the others: a crowd pushes out itself, and nobody else. Reserved places never give way.
"""

from __future__ import annotations

import ipaddress
import resource
from collections import OrderedDict

from vmtrace.receiver.newcomer import Newcomer

_NETWORK_BITS = {4: 24, 6: 48}


def open_files(*, as_many_as_allowed: bool = False) -> int:
    """How many files this process may have open; raised to what the system allows it at most, if so wanted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if as_many_as_allowed and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft


def network_of(host: str) -> str:
    """The network that a host is counted under: an IPv4 /24, an IPv6 /48."""
    address = ipaddress.ip_address(host)
    bits = _NETWORK_BITS[address.version]
    shift = address.max_prefixlen - bits
    return f"{address.version}/{int(address) >> shift:x}"


class Places:
    """`most` places; every operation takes the same time however many are taken."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all: OrderedDict[int, Newcomer] = OrderedDict()
        self._networks: dict[str, OrderedDict[int, None]] = {}
        self._by_crowd: list[OrderedDict[str, None]] = [OrderedDict()]
        """Networks with so many connections, by that number."""

    def __len__(self) -> int:
        return len(self._all)

    @property
    def is_full(self) -> bool:
        """Somebody has to give way to the next one."""
        return len(self._all) >= self._most

    def take(self, descriptor: int, newcomer: Newcomer) -> None:
        """Give a place; deadlines must not decrease from one to the next."""
        self._all[descriptor] = newcomer
        if newcomer.reserved:
            return
        waiting = self._networks.setdefault(newcomer.network, OrderedDict())
        self._move(newcomer.network, len(waiting), len(waiting) + 1)
        waiting[descriptor] = None

    def find(self, descriptor: int) -> Newcomer | None:
        """Who waits there."""
        return self._all.get(descriptor)

    def leave(self, descriptor: int) -> Newcomer:
        """Free a place."""
        newcomer = self._all.pop(descriptor)
        if not newcomer.reserved:
            waiting = self._networks[newcomer.network]
            self._move(newcomer.network, len(waiting), len(waiting) - 1)
            del waiting[descriptor]
            if not waiting:
                del self._networks[newcomer.network]
        return newcomer

    def late(self, now_s: float) -> int | None:
        """The first whose time is over."""
        for descriptor, newcomer in self._all.items():
            return descriptor if now_s >= newcomer.deadline_s else None
        return None

    def gives_way(self) -> int | None:
        """The oldest of the most crowded network; none where all places are reserved."""
        if not self._by_crowd[-1]:
            return None
        return next(iter(self._networks[next(iter(self._by_crowd[-1]))]))

    def all(self) -> list[Newcomer]:
        """Everybody who waits."""
        return list(self._all.values())

    def _move(self, network: str, before: int, after: int) -> None:
        if before:
            del self._by_crowd[before][network]
        if after:
            if after == len(self._by_crowd):
                self._by_crowd.append(OrderedDict())
            self._by_crowd[after][network] = None
        while len(self._by_crowd) > 1 and not self._by_crowd[-1]:
            self._by_crowd.pop()
