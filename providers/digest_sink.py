"""Where downloads go: nowhere, but counted and digested, so that the disk is no part of what is measured.

What is large is digested by a thread beside the one that reads, so that a fast network does not wait for SHA-256: not
within an object and, where an SDK hands over a whole object at its end, not before the next one either (`end`).
"""

import hashlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from vmtrace.providers.errors import ErrorKind, ServiceError

_PORTION_BYTES = 1 << 20
_MOST_PORTIONS = 8  # that wait for the thread; then the reader does


class DigestSink:
    """Takes the bytes of one object, in order; `written` hears of each block's size.

    More than `most_bytes` are refused (None: no limit): a body without end would otherwise be read for ever.
    """

    def __init__(self, written: Callable[[int], None] = lambda _: None, most_bytes: int | None = None) -> None:
        self._digest = hashlib.sha256()
        self._written = written
        self._most_bytes = most_bytes
        self._portion: list[bytes] = []
        self._portion_bytes = 0
        self._waiting: deque[Future[None]] = deque()
        self.size_bytes = 0

    def write(self, data: bytes | memoryview) -> int:
        """Take the next bytes."""
        if self._most_bytes is not None and self.size_bytes + len(data) > self._most_bytes:
            shown = f"what came back is not what was sent (more than its {self._most_bytes} bytes)"
            raise ServiceError(ErrorKind.DIGEST, shown)
        self._portion.append(bytes(data))  # whose buffer it is may be filled anew; bytes themselves are not copied
        self._portion_bytes += len(data)
        if self._portion_bytes >= _PORTION_BYTES:
            self._hand_over()
        self.size_bytes += len(data)
        self._written(len(data))
        return len(data)

    def end(self) -> bool:
        """Nothing more comes. Returns whether the thread still has work, for which `sha256` would wait."""
        if self._waiting and self._portion:
            self._hand_over()
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft().result()
        return bool(self._waiting)

    def sha256(self) -> str:
        """Of all that came, in hexadecimal."""
        while self._waiting:
            self._waiting.popleft().result()
        self._add(self._portion)
        self._portion, self._portion_bytes = [], 0
        return self._digest.hexdigest()

    def _hand_over(self) -> None:
        self._waiting.append(_thread().submit(self._add, self._portion))
        self._portion, self._portion_bytes = [], 0
        if len(self._waiting) > _MOST_PORTIONS:
            self._waiting.popleft().result()

    def _add(self, portion: list[bytes]) -> None:
        for block in portion:
            self._digest.update(block)


@cache
def _thread() -> ThreadPoolExecutor:
    """One for all sinks: a single thread keeps the order of what it is given."""
    return ThreadPoolExecutor(1, "digest")
