"""HTTP/1.1 messages as a proxy needs them (RFC 9112): the head's fields and how the body is framed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import Enum

_READ_BYTES = 65_536
_NO_BODY = (204, 304)


class Framing(Enum):
    """How a body's end is found."""

    NONE = "none"
    LENGTH = "length"
    CHUNKED = "chunked"
    UNTIL_CLOSE = "until close"


@dataclass(frozen=True, slots=True)
class Head:
    """A start line and its fields (names in lower case), with the bytes they came in."""

    raw: bytes
    start: tuple[str, str, str]
    fields: Mapping[str, str]

    @property
    def closes(self) -> bool:
        """The connection ends with this message."""
        return self.fields.get("connection", "").lower() == "close" or "HTTP/1.0" in self.start

    @property
    def status(self) -> int:
        """The status code of an answer."""
        return int(self.start[1])

    @property
    def length_bytes(self) -> int:
        """Content-Length, 0 without one."""
        return int(self.fields.get("content-length", "0"))


def parse_head(raw: bytes) -> Head:
    """Split a head that ends with an empty line; a ValueError when it is none."""
    first, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2:
        raise ValueError(f"no HTTP message: {first[:80]!r}")
    fields = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields[name.strip().lower()] = value.strip()
    return Head(raw, (words[0], words[1], words[2] if len(words) > 2 else ""), fields)


def request_framing(head: Head) -> Framing:
    """How a request's body is framed; without Content-Length or Transfer-Encoding it has none."""
    if "chunked" in head.fields.get("transfer-encoding", "").lower():
        return Framing.CHUNKED
    return Framing.LENGTH if head.length_bytes else Framing.NONE


def answer_framing(head: Head, method: str) -> Framing:
    """How an answer's body is framed, which depends on what was asked."""
    if method == "HEAD" or head.status in _NO_BODY or head.status < 200:
        return Framing.NONE
    if "chunked" in head.fields.get("transfer-encoding", "").lower():
        return Framing.CHUNKED
    if "content-length" in head.fields:
        return Framing.LENGTH if head.length_bytes else Framing.NONE
    return Framing.UNTIL_CLOSE


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next head, or None when the connection ended before one began."""
    try:
        return parse_head(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise ConnectionResetError("the connection ended within a head") from None
        return None


async def read_body(reader: asyncio.StreamReader, framing: Framing, length_bytes: int) -> AsyncIterator[bytes]:
    """The body's bytes as they are on the connection, chunk sizes and trailers included."""
    if framing is Framing.LENGTH:
        async for part in _exactly(reader, length_bytes):
            yield part
    elif framing is Framing.CHUNKED:
        async for part in _chunks(reader):
            yield part
    elif framing is Framing.UNTIL_CLOSE:
        while part := await reader.read(_READ_BYTES):
            yield part


async def _exactly(reader: asyncio.StreamReader, length_bytes: int) -> AsyncIterator[bytes]:
    left = length_bytes
    while left:
        part = await reader.read(min(left, _READ_BYTES))
        if not part:
            raise ConnectionResetError("the connection ended within a body")
        left -= len(part)
        yield part


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        size_line = await reader.readuntil(b"\r\n")
        yield size_line
        size = int(size_line.split(b";")[0], 16)
        if size == 0:
            break
        async for part in _exactly(reader, size + 2):
            yield part
    while True:
        line = await reader.readuntil(b"\r\n")
        yield line
        if line == b"\r\n":
            return
