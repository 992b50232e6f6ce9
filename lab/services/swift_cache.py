"""A cache for a Swift proxy of one process, in place of memcached: TempAuth keeps its tokens here.

A paste filter; only Swift loads it, in the server's own process.
"""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Cache:
    """What Swift's middleware calls of its memcache client. `time` is a lifetime in seconds, 0 for ever."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[Any, float]] = {}

    def get(self, key: str, **_: Any) -> Any:
        """The value of a key, or None."""
        value, ends_s = self._values.get(key, (None, 0.0))
        if ends_s and ends_s < clock.time():
            del self._values[key]
            return None
        return value

    def set(self, key: str, value: Any, serialize: bool = True, time: float = 0, **_: Any) -> None:
        """Keep a value, as JSON would return it."""
        kept = json.loads(json.dumps(value)) if serialize else value
        self._values[key] = (kept, clock.time() + time if time else 0.0)

    def incr(self, key: str, delta: int = 1, time: float = 0, **_: Any) -> int:
        """Add to a number, which never falls below zero."""
        number = max(0, int(self.get(key) or 0) + delta)
        self.set(key, number, time=time)
        return number

    def decr(self, key: str, delta: int = 1, time: float = 0, **_: Any) -> int:
        """Subtract from a number."""
        return self.incr(key, -delta, time)

    def delete(self, key: str, **_: Any) -> None:
        """Forget a key."""
        self._values.pop(key, None)

    def set_multi(self, mapping: Mapping[str, Any], _server_key: str, time: float = 0, **_: Any) -> None:
        """Keep several values."""
        for key, value in mapping.items():
            self.set(key, value, time=time)

    def get_multi(self, keys: Iterable[str], _server_key: str) -> list[Any]:
        """The values of several keys."""
        return [self.get(key) for key in keys]


def filter_factory(_global: Mapping[str, str], **_local: str) -> Callable[[Application], Application]:
    """Paste's entry: put one cache into every request's environment."""
    cache = Cache()

    def wrap(application: Application) -> Application:
        def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            environ["swift.cache"] = cache
            return application(environ, start_response)

        return call

    return wrap
