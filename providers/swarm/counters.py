"""The client's own counters of each source: libtorrent's payload bytes (`total_download`), polled. Pure bookkeeping.

libtorrent counts per connection. A seed that connects again carries its count on, rounded down to KiB; a count that
falls further began anew, and what it had before is kept.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from vmtrace.providers.endpoints import shown_endpoint
from vmtrace.providers.swarm.peers import Peer

SEED, WEB_SEED = "seed", "web_seed"
_CARRIED_ON_WITHIN_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """A source's bytes at an instant."""

    time_ns: int
    kind: str
    address: str
    bytes: int


@dataclass(slots=True)
class SourceCount:
    """One source: an ordinary seed, or the web seed at one of its addresses."""

    kind: str
    address: str
    program: str | None = None
    """What a seed says it is."""
    connections: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    banned: bool = False
    stale: bool = False
    """Disconnected since the last poll: bytes may have come after it."""
    _now: int = 0
    _before: int = 0

    @property
    def bytes(self) -> int:
        """Payload bytes over all its connections: blocks of the file, those received twice or wrong included."""
        return self._before + self._now

    def polled(self, total_bytes: int) -> None:
        """libtorrent's counter reads so much."""
        if total_bytes < self._now - _CARRIED_ON_WITHIN_BYTES:
            self._before += self._now
            self._now = total_bytes
        else:
            self._now = max(self._now, total_bytes)
        self.stale = False

    def add(self, more_bytes: int) -> None:
        """Bytes that came after the last poll."""
        self._now += more_bytes

    def as_record(self) -> dict[str, Any]:
        """For a line of `downloads.jsonl`."""
        return {
            "kind": self.kind,
            "address": self.address,
            "program": self.program,
            "bytes": self.bytes,
            "connections": self.connections,
            "errors": dict(self.errors),
            "banned": self.banned,
        }


class Counters:
    """All sources of one download."""

    def __init__(self, peers: tuple[Peer, ...]) -> None:
        self.sources: dict[Peer, SourceCount] = {peer: SourceCount(SEED, shown_endpoint(peer)) for peer in peers}
        self.samples: list[Sample] = []
        self._sampled: dict[str, int] = {}

    def of(self, peer: Peer) -> SourceCount:
        """The source at an address; what is not a seed that was asked for is the web seed."""
        return self.sources.setdefault(peer, SourceCount(WEB_SEED, shown_endpoint(peer)))

    def sample(self, time_ns: int) -> None:
        """Keep all counts as they are now; what did not change is left out."""
        for one in self.sources.values():
            if self._sampled.get(one.address) != one.bytes:
                self._sampled[one.address] = one.bytes
                self.samples.append(Sample(time_ns, one.kind, one.address, one.bytes))

    def settle(self, total_bytes: int) -> int:
        """Give a source that left between two polls what is missing from the session's total, if it is just one.

        Returns the bytes that cannot be attributed to a source.
        """
        missing = total_bytes - sum(one.bytes for one in self.sources.values())
        stale = [one for one in self.sources.values() if one.stale]
        if missing > 0 and len(stale) == 1:
            stale[0].add(missing)
            return 0
        return max(missing, 0)
