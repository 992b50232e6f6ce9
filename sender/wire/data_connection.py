"""The data connections of a transfer: who each belongs to, and the few bytes around its payload.

After the handshake of `handshake` (kind DATA, proof by the session's key), with TLS the TLS handshake, then the
payload; a download begins with GO from the side that takes it, so that its clock runs when the bytes do. Whoever
takes the payload ends it with DONE, so that the other end knows when the last byte was there.

The SUBJECT of a data connection's AUTH says which stream it is: session (16 bytes), transfer number, stream, direction.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.handshake import SUBJECT_BYTES
from vmtrace.sender.wire.keys import derive
from vmtrace.sender.wire.records import DOWNLOAD, UPLOAD
from vmtrace.sender.wire.stream import STANDSTILL

SESSION_BYTES = 16
_SUBJECT = struct.Struct(">16sIHB9x")
_DONE = struct.Struct(">4sIQ")
_DONE_MAGIC = b"DONE"
_GO = b"GO"
_CODES = {UPLOAD: 0, DOWNLOAD: 1}
_DIRECTIONS = {code: direction for direction, code in _CODES.items()}


@dataclass(frozen=True)
class Stream:
    """One data connection's place."""

    session: bytes
    transfer: int
    stream: int
    direction: str
    """`upload` or `download`: a transfer of both has streams of each."""


def session_name(session_key: bytes) -> bytes:
    """What data connections call the session; gives nothing of its key away."""
    return derive(session_key, b"vmtrace 2 session name")[:SESSION_BYTES]


def data_key(session_key: bytes) -> bytes:
    """The key by which data connections prove that they belong to the session."""
    return derive(session_key, b"vmtrace 2 data connections")


def pack_subject(stream: Stream) -> bytes:
    """The stream as SUBJECT of an AUTH."""
    return _SUBJECT.pack(stream.session, stream.transfer, stream.stream, _CODES[stream.direction])


def read_subject(subject: bytes) -> Stream:
    """The stream that a SUBJECT names; raises `ValueError` for what names none."""
    if len(subject) != SUBJECT_BYTES:
        raise ValueError("a subject has 32 bytes")
    session, transfer, stream, code = _SUBJECT.unpack(subject)
    if code not in _DIRECTIONS:
        raise ValueError(f"no direction {code}")
    return Stream(session, transfer, stream, _DIRECTIONS[code])


def send_done(sock: socket.socket, received_bytes: int) -> None:
    """Tell the other end that all its bytes are here."""
    sock.sendall(_DONE.pack(_DONE_MAGIC, 0, received_bytes))


def send_go(sock: socket.socket) -> None:
    """Ask for the payload of a download."""
    sock.sendall(_GO)


def wait_for_go(sock: socket.socket) -> None:
    """Wait until the other end wants the payload."""
    if _read(sock, len(_GO)) != _GO:
        raise ReceiverGone("the far end does not ask for its download")


def wait_for_done(sock: socket.socket, sent_bytes: int) -> None:
    """Wait until the other end has all bytes; raises `ReceiverGone` when it says otherwise, or nothing."""
    magic, _, received_bytes = _DONE.unpack(_read(sock, _DONE.size))
    if magic != _DONE_MAGIC or received_bytes != sent_bytes:
        raise ReceiverGone(f"the far end has {received_bytes} of {sent_bytes} bytes")


def _read(sock: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        try:
            piece = sock.recv(count - len(content))
        except STANDSTILL as error:
            raise ReceiverGone("the transfer stalled: the far end does not confirm that all data arrived") from error
        if not piece:
            raise ReceiverGone("the far end closed the connection before all had arrived")
        content += piece
    return content
