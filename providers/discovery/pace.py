"""When the next query may leave: so many per second in all, and so many to each resolver, retries included."""

import asyncio
import time
from collections.abc import Callable

from vmtrace.providers.discovery.resolvers import Resolver


class Pace:
    """Gives out instants, evenly spaced; who waits until its own keeps both rates."""

    def __init__(self, rate_per_s: float, resolver_rate_per_s: float, now_s: Callable[[], float] = time.monotonic):
        self._gap_s, self._resolver_gap_s = 1 / rate_per_s, 1 / resolver_rate_per_s
        self._now_s = now_s
        self._next_s = 0.0
        self._next_of: dict[Resolver, float] = {}

    def free_in_s(self, resolver: Resolver) -> float:
        """How long this resolver's own rate keeps it from being asked; 0: no longer."""
        return max(0.0, self._next_of.get(resolver, 0.0) - self._now_s())

    def reserve_s(self, resolver: Resolver) -> float:
        """Take the next instant for this resolver; returns how long it is until then."""
        now_s = self._now_s()
        at_s = max(now_s, self._next_s, self._next_of.get(resolver, 0.0))
        self._next_s = max(now_s, self._next_s) + self._gap_s
        self._next_of[resolver] = at_s + self._resolver_gap_s
        return at_s - now_s

    async def slot(self, resolver: Resolver) -> None:
        """Wait until this resolver may be asked."""
        await asyncio.sleep(self.reserve_s(resolver))
