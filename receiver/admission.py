"""Who may knock, and how often: a bounded memory of origins and what each has done lately.

Pure but for the clock, which is given. The receiver sits on a public address, so every connection is counted before a
byte of it is read.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass

from vmtrace.receiver.settings import AdmissionLimits


@dataclass
class _Known:
    """One origin: a token bucket of connections, and its wrong keys."""

    tokens: float
    seen_s: float
    unproven: int = 0
    wrong_keys: int = 0
    shut_out_until_s: float = 0.0


def origin_of(host: str) -> str:
    """What is counted as one: an IPv4 address, or the /64 of an IPv6 address, because one host has all of that."""
    address = ipaddress.ip_address(host)
    if address.version == 4:
        return host
    return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))


class Admission:
    """Decides about new connections. Instants are seconds of one monotonic clock."""

    def __init__(self, limits: AdmissionLimits) -> None:
        self._limits = limits
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._proven: OrderedDict[str, None] = OrderedDict()

    def admit(self, origin: str, now_s: float, awaited: int = 0) -> bool:
        """Whether a new connection from `origin` is looked at; counts it as unproven if so.

        `awaited` connections come in addition: the streams of transfers that were prepared for a sender there.
        """
        known = self._of(origin, now_s)
        if known.unproven >= self._limits.unproven_of_address + awaited:
            return False
        if awaited == 0:
            if now_s < known.shut_out_until_s or known.tokens < 1:
                return False
            known.tokens -= 1
        known.unproven += 1
        return True

    def settled(self, origin: str) -> None:
        """An admitted connection has proven the key, or is closed."""
        known = self._known.get(origin)
        if known is not None and known.unproven > 0:
            known.unproven -= 1

    def wrong_key(self, origin: str, now_s: float) -> None:
        """A connection from `origin` tried a wrong key."""
        known = self._of(origin, now_s)
        known.wrong_keys += 1
        if known.wrong_keys >= self._limits.wrong_keys:
            known.wrong_keys = 0
            known.shut_out_until_s = now_s + self._limits.wrong_key_pause_s

    def right_key(self, origin: str) -> None:
        """`origin` has the key."""
        known = self._known.get(origin)
        if known is not None:
            known.wrong_keys = 0
        self._proven[origin] = None
        self._proven.move_to_end(origin)
        if len(self._proven) > self._limits.proven_origins:
            self._proven.popitem(last=False)

    def has_proved(self, origin: str) -> bool:
        """`origin` had the key, not long ago."""
        return origin in self._proven

    def __len__(self) -> int:
        return len(self._known)

    def _of(self, origin: str, now_s: float) -> _Known:
        known = self._known.get(origin)
        if known is None:
            known = _Known(self._limits.connection_burst, now_s)
            self._known[origin] = known
            if len(self._known) > self._limits.origins:
                self._known.popitem(last=False)
        self._known.move_to_end(origin)
        earned = (now_s - known.seen_s) * self._limits.connections_per_s
        known.tokens = min(float(self._limits.connection_burst), known.tokens + earned)
        known.seen_s = now_s
        return known
