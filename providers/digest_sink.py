"""Where downloads go: nowhere, but counted and digested, so that the disk is no part of what is measured."""

import hashlib
from collections.abc import Callable


class DigestSink:
    """Takes the bytes of one object, in order; `written` hears of each block's size."""

    def __init__(self, written: Callable[[int], None] = lambda _: None) -> None:
        self._digest = hashlib.sha256()
        self._written = written
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        """Take the next bytes."""
        self._digest.update(data)
        self.size_bytes += len(data)
        self._written(len(data))
        return len(data)

    def sha256(self) -> str:
        """Of all that came, in hexadecimal."""
        return self._digest.hexdigest()
