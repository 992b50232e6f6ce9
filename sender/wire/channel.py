"""Messages over a control connection: each with a length and a kind.

    4 bytes  length of kind and content          at most LONGEST_BYTES, else the connection ends
    1 byte   kind: J (a JSON object) or B (bytes of a file)
             content

TLS 1.3 below them (`secrecy`) keeps content secret, whole and in order.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

from vmtrace.sender.wire.errors import ConnectionClosed, ReceiverGone, WireError

LONGEST_BYTES = 1 << 20
_LENGTH = struct.Struct(">I")
_SENDING_S = 60.0
"""A message must be taken by the other side within this time: who asks and does not read holds nobody up for longer."""
_LONGEST_INTEGER = 20
_JSON = b"J"
_BYTES = b"B"

Message = dict[str, Any]
"""A JSON object as it comes; `vmtrace.sender.wire.fields` makes typed records of it."""


class ChannelError(WireError):
    """The other side broke the rules of the channel; the connection is of no more use."""


class Channel:
    """One side of an authenticated connection. Not for use by several threads at once."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self.socket = sock
        self.peer = peer

    def send(self, message: Message) -> None:
        """Send a JSON object."""
        self._send(_JSON, json.dumps(message, separators=(",", ":"), allow_nan=False).encode())

    def send_bytes(self, content: bytes) -> None:
        """Send a piece of a file."""
        self._send(_BYTES, content)

    def receive(self, timeout_s: float | None) -> Message:
        """The next message, which must be a JSON object.

        Raises `ReceiverGone` when the connection ends or is silent for `timeout_s`, `ChannelError` for what breaks
        the rules.
        """
        kind, content = self._receive(timeout_s)
        if kind != _JSON:
            raise ChannelError(f"{self.peer} sent bytes where a message was due")
        try:
            text = content.decode("utf-8")
            message = json.loads(text, parse_int=_integer, parse_constant=_no_number, object_pairs_hook=_each_key_once)
        except (ValueError, RecursionError) as error:
            raise ChannelError(f"{self.peer} sent a message that is not JSON") from error
        if not isinstance(message, dict):
            raise ChannelError(f"{self.peer} sent a message that is not an object")
        return message

    def receive_bytes(self, timeout_s: float | None) -> bytes:
        """The next message, which must be a piece of a file."""
        kind, content = self._receive(timeout_s)
        if kind != _BYTES:
            raise ChannelError(f"{self.peer} sent a message where bytes of a file were due")
        return content

    def close(self) -> None:
        """End the connection."""
        self.socket.close()

    def _send(self, kind: bytes, content: bytes) -> None:
        body = kind + content
        if len(body) > LONGEST_BYTES:
            raise ValueError(f"a message of {len(body)} bytes is too long")
        send_all(self.socket, _LENGTH.pack(len(body)) + body, _SENDING_S, self.peer)

    def _receive(self, timeout_s: float | None) -> tuple[bytes, bytes]:
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        length = receive_exactly(self.socket, _LENGTH.size, deadline_s, self.peer)
        (body_bytes,) = _LENGTH.unpack(length)
        if not 1 <= body_bytes <= LONGEST_BYTES:
            raise ChannelError(f"{self.peer} announced a message of {body_bytes} bytes")
        body = receive_exactly(self.socket, body_bytes, deadline_s, self.peer)
        return body[:1], body[1:]


def send_all(sock: socket.socket, content: bytes, within_s: float, peer: str) -> None:
    """Send `content`, all of it within so many seconds: TLS's own `sendall` gives each record that time.

    Raises `ReceiverGone` when the connection breaks, or the other side does not take it in time.
    """
    deadline_s, left = time.monotonic() + within_s, memoryview(content)
    try:
        while left:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise ReceiverGone(f"{peer} did not take a message in time")
            sock.settimeout(left_s)
            left = left[sock.send(left) :]
    except socket.timeout as error:
        raise ReceiverGone(f"{peer} did not take a message in time") from error
    except OSError as error:
        raise ReceiverGone(f"{peer}: connection lost ({error.strerror or error})") from error


def receive_exactly(sock: socket.socket, count: int, deadline_s: float | None, peer: str) -> bytes:
    """Read `count` bytes before an instant of the monotonic clock.

    Raises `ReceiverGone` when the connection ends, breaks, or the time is over.
    """
    content = bytearray()
    try:
        while len(content) < count:
            if deadline_s is not None:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise ReceiverGone(f"no reply from {peer} in time")
                sock.settimeout(left_s)
            else:
                sock.settimeout(None)
            piece = sock.recv(count - len(content))
            if not piece:
                raise ConnectionClosed(f"{peer} closed the connection")
            content += piece
    except socket.timeout as error:
        raise ReceiverGone(f"no reply from {peer} in time") from error
    except OSError as error:
        raise ReceiverGone(f"{peer}: connection lost ({error.strerror or error})") from error
    return bytes(content)


def _integer(digits: str) -> int:
    """Python's own reading of long integers takes a time that grows with the square of their length."""
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError("an integer of too many digits")
    return int(digits)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers of an object that has a key twice could take it for different things."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
