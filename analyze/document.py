"""The JSON document read in pieces: what it says of the inputs, and single connections, however many there are.

The engine writes the document as a stream; this reads the stream as it comes and drops what nobody asked for, so that
the detail of one connection among a million costs no memory.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

Record = dict[str, Any]
"""One object of the contract `vmtrace.analysis/1`."""

_CONNECTIONS = '"connections":['
_decoder = json.JSONDecoder()


class _Enough(Exception):  # noqa: N818 - not an error
    """Stops the engine's writing when everything asked for was seen."""


class _Reader:
    def __init__(self, wanted: Iterable[int]) -> None:
        self.header: Record | None = None
        self.found: dict[int, Record] = {}
        self._wanted = frozenset(wanted)
        self._text = ""
        self._bytes = b""

    def feed(self, piece: bytes) -> None:
        # A piece may end within a character: only what is certainly complete is decoded.
        self._bytes += piece
        try:
            text, self._bytes = self._bytes.decode(), b""
        except UnicodeDecodeError as error:
            text, self._bytes = self._bytes[: error.start].decode(), self._bytes[error.start :]
        self._text += text
        if self.header is None:
            self._read_header()
        if self.header is not None:
            self._read_connections()

    def _read_header(self) -> None:
        # Within a JSON string the quotes would be escaped: this can only be the key itself.
        end = self._text.find(_CONNECTIONS)
        if end >= 0:
            self.header = json.loads(self._text[: end + len(_CONNECTIONS)] + "]}")
            self._text = self._text[end + len(_CONNECTIONS) :]

    def _read_connections(self) -> None:
        start = 0
        while len(self.found) < len(self._wanted):
            while self._text[start : start + 1] in (",", "\n", " "):
                start += 1
            if self._text[start : start + 1] != "{":
                break
            try:
                record, end = _decoder.raw_decode(self._text, start)
            except json.JSONDecodeError:
                break
            if record["id"] in self._wanted:
                self.found[record["id"]] = record
            start = end
        else:
            raise _Enough
        self._text = self._text[start:]


def read(
    write_json: Callable[[Callable[[bytes], object]], None], wanted: Iterable[int] = ()
) -> tuple[Record, list[Record]]:
    """The document without its connections, and the connections of these numbers in the order they are in.

    `write_json` makes the engine write the compact document through the callable that it is given.
    """
    reader = _Reader(wanted)
    with suppress(_Enough):
        write_json(reader.feed)
    header = reader.header or {}
    header.pop("connections", None)
    return header, list(reader.found.values())


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
        added = json.dumps(more, ensure_ascii=False)[1:-1].encode()
        self._write(body + (b"," + added if added else b"") + brace + end)
