"""The bytes of a transfer: made, sent as fast as the kernel takes them, and verified as they arrive.

A stream of N bytes is a block of fresh random bytes, repeated until N is full. The block is made before the clock
runs. Its first copy is kept by the side that receives, and its SHA-256 compared with the sender's afterwards; all
later ones are compared with the first by memcmp, which costs so little that a verified stream is as fast as an
unverified one. A block of some MiB stays in the processor's cache.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from vmtrace.sender.wire.errors import ReceiverGone

_RECEIVE_BYTES = 512 << 10
_SMALLEST_WRITE_BYTES = 64 << 10
_LARGEST_WRITE_BYTES = 1 << 20
_SHORT_WRITE_S = 0.005
_LONG_WRITE_S = 0.1

# What a blocking call raises once the kernel's time for it is over (`endpoint.give_up_after`), without and with TLS;
# TimeoutError is ETIMEDOUT, when what was sent has not been acknowledged.
STANDSTILL = (BlockingIOError, TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_memcmp.restype = ctypes.c_int


class Progress:
    """How far one stream is. Written by the thread that moves its bytes, read by any."""

    def __init__(self) -> None:
        self.moved_bytes = 0


@dataclass(frozen=True)
class Received:
    """What one stream brought."""

    bytes: int
    first_byte_ns: int
    last_byte_ns: int
    sha256: str
    """Of its first copy of the block."""
    repeats: bool
    """Every later copy equals the first."""


def shares(total_bytes: int, streams: int) -> tuple[int, ...]:
    """How a transfer's bytes are divided among its streams: evenly, the first ones taking the rest."""
    each, rest = divmod(total_bytes, streams)
    return tuple(each + (position < rest) for position in range(streams))


def fresh_bytes(stream_bytes: int, random_bytes: int, streams: int) -> int:
    """Length of a stream's block: `random_bytes` are shared out among the streams, to bound memory and cache."""
    return max(1, min(stream_bytes, random_bytes // streams))


def digest(block: memoryview) -> str:
    """SHA-256 of a block."""
    return hashlib.sha256(block).hexdigest()


def send_stream(sock: socket.socket, block: memoryview, total_bytes: int, progress: Progress) -> None:
    """Send `total_bytes` of the repeated block. Writes are short on a slow path, so that progress can be seen.

    Raises `ReceiverGone` when nothing could be sent for the time that `endpoint.give_up_after` set.
    """
    sent = 0
    write_bytes = _SMALLEST_WRITE_BYTES
    while sent < total_bytes:
        start = sent % len(block)
        piece = block[start : min(start + write_bytes, start + total_bytes - sent)]
        began_s = time.monotonic()
        try:
            sock.sendall(piece)
        except STANDSTILL as error:
            raise ReceiverGone("the transfer stalled: no data could be sent") from error
        took_s = time.monotonic() - began_s
        sent += len(piece)
        progress.moved_bytes = sent
        if took_s < _SHORT_WRITE_S:
            write_bytes = min(2 * write_bytes, _LARGEST_WRITE_BYTES)
        elif took_s > _LONG_WRITE_S:
            write_bytes = max(write_bytes // 2, _SMALLEST_WRITE_BYTES)


def receive_stream(
    sock: socket.socket, total_bytes: int, block_bytes: int, progress: Progress, all_here: Callable[[], None]
) -> Received:
    """Receive and verify `total_bytes` of a stream whose block has `block_bytes`.

    `all_here` is called when the last byte has come, before the digest is made, whose time is not the network's.

    Raises `ReceiverGone` when the stream ends early or stands still.
    """
    with _Reference(block_bytes) as reference:
        try:
            first_ns = _first_byte(sock, reference, total_bytes, progress)
            _fill(sock, reference, total_bytes, progress)
            repeats = _compare(sock, reference, total_bytes, progress)
        except STANDSTILL as error:
            raise ReceiverGone("the transfer stalled: no data arrives") from error
        last_ns = time.time_ns()
        all_here()
        return Received(progress.moved_bytes, first_ns, last_ns, digest(reference.block), repeats)


class _Reference:
    """The first copy of a block, and room for pieces of later ones, which are compared with it."""

    def __init__(self, block_bytes: int) -> None:
        # Anonymous maps: their addresses are known, they are given back at once, and cost nothing until written.
        self._maps = (mmap.mmap(-1, block_bytes), mmap.mmap(-1, min(_RECEIVE_BYTES, block_bytes)))
        self.block, self.scratch = (memoryview(area) for area in self._maps)
        self.block_address, self.scratch_address = (
            ctypes.addressof(ctypes.c_char.from_buffer(area)) for area in self._maps
        )

    def __enter__(self) -> _Reference:  # noqa: PYI034 - Self is not in Python 3.9
        return self

    def __exit__(self, *_: object) -> None:
        self.block.release()
        self.scratch.release()
        for area in self._maps:
            with suppress(BufferError):  # an error on its way still holds a view: the map goes with that
                area.close()


def _first_byte(sock: socket.socket, reference: _Reference, total_bytes: int, progress: Progress) -> int:
    """Take what comes first; returns when it did."""
    count = sock.recv_into(reference.block[:_RECEIVE_BYTES])
    first_ns = time.time_ns()
    _count(progress, count, total_bytes)
    return first_ns


def _fill(sock: socket.socket, reference: _Reference, total_bytes: int, progress: Progress) -> None:
    """Take the rest of the first copy of the block."""
    while progress.moved_bytes < len(reference.block):
        start = progress.moved_bytes
        _count(progress, sock.recv_into(reference.block[start : start + _RECEIVE_BYTES]), total_bytes)


def _compare(sock: socket.socket, reference: _Reference, total_bytes: int, progress: Progress) -> bool:
    """Take all further copies; returns whether each equals the first. Nothing here is done that need not be: at rates
    of 80 Gbit/s every microsecond between two calls shows."""
    recv_into, scratch, room = sock.recv_into, reference.scratch, len(reference.scratch)
    block, piece, whole = reference.block_address, reference.scratch_address, len(reference.block)
    received, repeats = progress.moved_bytes, True
    while received < total_bytes:
        start = received % whole
        count = recv_into(scratch, min(room, whole - start, total_bytes - received))
        if _memcmp(block + start, piece, count) != 0:
            repeats = False
        received += count
        progress.moved_bytes = received
        if count == 0:
            _count(progress, 0, total_bytes)
    return repeats


def _count(progress: Progress, count: int, total_bytes: int) -> None:
    """Add to what is here; nothing more is the end of the stream, which comes too early."""
    if count == 0:
        raise ReceiverGone(f"the stream ended after {progress.moved_bytes} of {total_bytes} bytes")
    progress.moved_bytes += count


def new_block(block_bytes: int) -> memoryview:
    """Fresh random bytes."""
    return memoryview(os.urandom(block_bytes))
