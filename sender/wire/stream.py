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

from sender.wire.errors import ReceiverGone

_RECEIVE_BYTES = 256 << 10
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
            raise ReceiverGone("the transfer stands still: no byte could be sent") from error
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
    with Reference(block_bytes) as reference:
        first_ns: int | None = None
        received = 0
        while received < total_bytes:
            try:
                count = sock.recv_into(reference.space(received, total_bytes))
            except STANDSTILL as error:
                raise ReceiverGone("the transfer stands still: no byte arrives") from error
            if count == 0:
                raise ReceiverGone(f"the stream ended after {received} of {total_bytes} bytes")
            if first_ns is None:
                first_ns = time.time_ns()
            reference.arrived(received, count)
            received += count
            progress.moved_bytes = received
        last_ns = time.time_ns()
        all_here()
        return Received(received, first_ns or last_ns, last_ns, reference.sha256(), reference.repeats)


class Reference:
    """The first copy of a block, and the comparison of later ones with it."""

    def __init__(self, block_bytes: int) -> None:
        self.repeats = True
        self._bytes = block_bytes
        # Anonymous maps: their addresses are known, they are given back at once, and cost nothing until written.
        self._maps = (mmap.mmap(-1, block_bytes), mmap.mmap(-1, _RECEIVE_BYTES))
        self._block, self._scratch = (memoryview(area) for area in self._maps)
        self._addresses = tuple(ctypes.addressof(ctypes.c_char.from_buffer(area)) for area in self._maps)

    def space(self, received: int, total_bytes: int) -> memoryview:
        """Where the bytes at this place of the stream go; never across the end of the block or the stream."""
        start = received % self._bytes
        count = min(_RECEIVE_BYTES, self._bytes - start, total_bytes - received)
        return self._block[start : start + count] if received < self._bytes else self._scratch[:count]

    def arrived(self, received: int, count: int) -> None:
        """`count` bytes have been written to `space(received, ...)`."""
        if received >= self._bytes:
            block, scratch = self._addresses
            if _memcmp(block + received % self._bytes, scratch, count) != 0:
                self.repeats = False

    def sha256(self) -> str:
        """Digest of the first copy."""
        return digest(self._block)

    def __enter__(self) -> Reference:  # noqa: PYI034 - Self is not in Python 3.9
        return self

    def __exit__(self, *_: object) -> None:
        self._block.release()
        self._scratch.release()
        for area in self._maps:
            with suppress(BufferError):  # an error on its way still holds a view: the map goes with that
                area.close()


def new_block(block_bytes: int) -> memoryview:
    """Fresh random bytes."""
    return memoryview(os.urandom(block_bytes))
