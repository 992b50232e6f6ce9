"""Who may knock, and how often: a bounded memory of addresses and what each has done lately.

Pure but for the clock, which is given. The receiver sits on a public address, so every connection is counted before a
byte of it is read.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from receiver.settings import AdmissionLimits


@dataclass
class _Known:
    """One address: a token bucket of connections, and its wrong keys."""

    tokens: float
    seen_s: float
    unproven: int = 0
    wrong_keys: int = 0
    shut_out_until_s: float = 0.0


class Admission:
    """Decides about new connections. Instants are seconds of one monotonic clock."""

    def __init__(self, limits: AdmissionLimits) -> None:
        self._limits = limits
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def admit(self, address: str, now_s: float) -> bool:
        """Whether a new connection from `address` is looked at; counts it as unproven if so."""
        known = self._of(address, now_s)
        if now_s < known.shut_out_until_s or known.unproven >= self._limits.unproven_of_address or known.tokens < 1:
            return False
        known.tokens -= 1
        known.unproven += 1
        return True

    def settled(self, address: str) -> None:
        """An admitted connection has proven the key, or is closed."""
        known = self._known.get(address)
        if known is not None and known.unproven > 0:
            known.unproven -= 1

    def wrong_key(self, address: str, now_s: float) -> None:
        """A connection from `address` tried a wrong key."""
        known = self._of(address, now_s)
        known.wrong_keys += 1
        if known.wrong_keys >= self._limits.wrong_keys:
            known.wrong_keys = 0
            known.shut_out_until_s = now_s + self._limits.wrong_key_pause_s

    def right_key(self, address: str) -> None:
        """`address` has the key."""
        known = self._known.get(address)
        if known is not None:
            known.wrong_keys = 0

    def __len__(self) -> int:
        return len(self._known)

    def _of(self, address: str, now_s: float) -> _Known:
        known = self._known.get(address)
        if known is None:
            known = _Known(self._limits.connection_burst, now_s)
            self._known[address] = known
            if len(self._known) > self._limits.addresses:
                self._known.popitem(last=False)
        self._known.move_to_end(address)
        earned = (now_s - known.seen_s) * self._limits.connections_per_s
        known.tokens = min(float(self._limits.connection_burst), known.tokens + earned)
        known.seen_s = now_s
        return known
