"""An object as the engine reads it: from its beginning, in ranges of which several are on their way.

The first range is small, because of many files only the beginning is read at first, to learn when each starts. Each
request names the ETag that was seen first, so that what is read is one version of the object.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from vmtrace.analyze.read.stores import parsed, store
from vmtrace.analyze.read.stores.listing import ObjectUrl

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
    """Ranges in order: of the whole object, or of parts of it (offset, length)."""

    def __init__(self, url: ObjectUrl, parts: Sequence[tuple[int, int]] | None = None) -> None:
        self._url = url
        self._left = _ranges(url.size_bytes) if parts is None else _ranges_of(parts)
        self._waiting: deque[Future[Any]] = deque()
        self._ask(1 if parts is None else IN_FLIGHT)

    def read(self) -> Any:
        """The next bytes, none at the end. Raises `OSError`."""
        if not self._waiting:
            return b""
        ready = self._waiting.popleft().result()
        self._ask(IN_FLIGHT)
        return ready

    def _ask(self, in_flight: int) -> None:
        while len(self._waiting) < in_flight and (wanted := next(self._left, None)) is not None:
            self._waiting.append(_pool().submit(get_range, self._url, *wanted))


def _ranges(size_bytes: int) -> Iterator[tuple[int, int]]:
    """Of a whole object: where each starts and ends."""
    if size_bytes:
        yield 0, min(FIRST_BYTES, size_bytes)
    yield from _ranges_of([(FIRST_BYTES, size_bytes - FIRST_BYTES)])


def _ranges_of(parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for offset, length in parts:
        for start in range(offset, offset + length, RANGE_BYTES):
            yield start, min(start + RANGE_BYTES, offset + length)


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
