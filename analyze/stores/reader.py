"""An object as the engine reads it: from its beginning, in ranges of which several are on their way.

The first range is small, because of many files only the beginning is read at first, to learn when each starts. Each
request names the ETag that was seen first, so that what is read is one version of the object.
"""

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from analyze.stores import store
from analyze.stores.listing import ObjectUrl
from analyze.stores.place import parsed

FIRST_BYTES = 64 << 10
RANGE_BYTES = 8 << 20
IN_FLIGHT = 4
"""Ranges of one object; a reader holds so many at most."""
_THREADS = 16
_TRIES = 6


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "vmtrace-store")


class ObjectReader:
    """Ranges in order."""

    def __init__(self, url: ObjectUrl) -> None:
        self._url = url
        self._asked = 0
        self._waiting: deque[Future[Any]] = deque()
        self._ask(FIRST_BYTES)

    def read(self) -> Any:
        """The next bytes, none at the end. Raises `OSError`."""
        if not self._waiting:
            return b""
        ready = self._waiting.popleft().result()
        while self._asked < self._url.size_bytes and len(self._waiting) < IN_FLIGHT:
            self._ask(RANGE_BYTES)
        return ready

    def _ask(self, length: int) -> None:
        start, end = self._asked, min(self._asked + length, self._url.size_bytes)
        if end > start:
            self._asked = end
            self._waiting.append(_pool().submit(get_range, self._url, start, end))


def get_range(url: ObjectUrl, start: int, end: int) -> Any:
    """Bytes `start` to `end` (not included) of an object.

    Raises `OSError`: for one that has changed since, and for what fails again and again.
    """
    place = parsed(url)
    client = store.opened(place.root, url.endpoint_url)
    wait_s = 0.1
    for left in reversed(range(_TRIES)):
        try:
            with store.errors_of(url):
                found = _got(client, place.key, url, start, end)
            if len(found) == end - start:
                return found
            problem = store.StoreError(f"{url}: the store sent {len(found):,} bytes of {end - start:,}")
        except store.ChangedError:
            raise
        except store.StoreError as error:
            problem = error
        if not left:
            raise problem
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, 5)
    return b""


def _got(client: Any, key: str, url: ObjectUrl, start: int, end: int) -> Any:
    import obstore

    options: obstore.GetOptions = {"range": (start, end)}
    if url.etag is not None:
        options["if_match"] = url.etag
    answer = obstore.get(client, key, options=options)
    # Some stores take no notice of the condition.
    if url.etag is not None and answer.meta["e_tag"] not in (None, url.etag):
        raise store.changed(url)
    return answer.bytes()
