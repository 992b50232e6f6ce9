"""A run's messages: number, due time and send time, signed, and padded to their size.

    vmtrace1.RUN.NUMBER.DUE_NS.SENT_NS.SIGNATURE.PADDING

Whatever is not signed with the run's key is foreign. The signature (HMAC-SHA-256, 64 bits of it) covers everything
before it and the length of the whole, so a message that was cut or altered shows.
"""

import hashlib
import hmac
from dataclasses import dataclass

_MARK = "vmtrace1"
_SIGNATURE_DIGITS = 16
_PARTS = 7
LEAST_BYTES = 96
"""Room for the header with numbers of 19 digits and a run's id of 16."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a message says of itself. Times are Unix nanoseconds; `due_ns` 0: it was due at no set time."""

    number: int
    due_ns: int
    sent_ns: int


class Seal:
    """Makes and checks the messages of one run."""

    def __init__(self, run: str, key: bytes) -> None:
        self._run, self._key = run, key

    def body(self, stamp: Stamp, size_bytes: int) -> str:
        """A message of exactly this size in ASCII; `ValueError` where the header does not fit."""
        header = f"{_MARK}.{self._run}.{stamp.number}.{stamp.due_ns}.{stamp.sent_ns}"
        signed = f"{header}.{self._signature(header, size_bytes)}."
        if len(signed) > size_bytes:
            raise ValueError(f"a message of {size_bytes} bytes has no room for its header of {len(signed)}")
        return signed + "-" * (size_bytes - len(signed))

    def read(self, body: str) -> Stamp | None:
        """What the message says; None for a foreign, altered or cut one."""
        parts = body.split(".", _PARTS - 1)
        if len(parts) != _PARTS or parts[:2] != [_MARK, self._run] or not body.isascii():
            return None
        header = ".".join(parts[:5])
        if not hmac.compare_digest(parts[5], self._signature(header, len(body))):
            return None
        number, due_ns, sent_ns = map(int, parts[2:5])
        return Stamp(number, due_ns, sent_ns)

    def _signature(self, header: str, size_bytes: int) -> str:
        digest = hmac.new(self._key, f"{header}.{size_bytes}".encode(), hashlib.sha256)
        return digest.hexdigest()[:_SIGNATURE_DIGITS]
