"""JSON documents on their way out: as bytes, and with keys that Python adds to what the engine writes as a stream."""

import json
import re
from collections.abc import Callable
from typing import Any

from vmtrace.analyze.words.units import STEERING

Record = dict[str, Any]
"""One object of a contract."""


def as_bytes(content: Record) -> bytes:
    """The document as a file holds it: what could steer a terminal is escaped, as the engine does."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return re.sub(STEERING, lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8", "replace") + b"\n"


class Appending:
    """Passes the pieces of a JSON object on to `write`; `finish` puts more keys in before its closing brace."""

    _TAIL_BYTES = 64

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._held = b""

    def __call__(self, piece: bytes) -> None:
        """Take one piece. The last bytes are held back: the brace is among them."""
        held = self._held + piece
        self._write(held[: -self._TAIL_BYTES])
        self._held = held[-self._TAIL_BYTES :]

    def finish(self, more: Record) -> None:
        """Write the rest, with the keys of `more`."""
        body, brace, end = self._held.rpartition(b"}")
        added = as_bytes(more).strip()[1:-1]
        self._write(body + (b"," + added if added else b"") + brace + end)
