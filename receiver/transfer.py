"""One transfer at the receiver: which data connections it waits for, and the threads that move their bytes."""

from __future__ import annotations

import socket
import ssl
import threading
from dataclasses import dataclass
from typing import Protocol

from vmtrace.receiver.socket_options import set_options
from vmtrace.sender.wire.data_connection import Stream, send_done, wait_for_done, wait_for_go
from vmtrace.sender.wire.endpoint import give_up_after, shut_down
from vmtrace.sender.wire.errors import ReceiverGone, WireError
from vmtrace.sender.wire.records import DOWNLOAD, UPLOAD, Sent, TransferRequest, directions_of
from vmtrace.sender.wire.stream import (
    Progress,
    Received,
    digest,
    fresh_bytes,
    new_block,
    receive_stream,
    send_stream,
    shares,
)
from vmtrace.sender.wire.tls import handshake, server_wrap

_CLOSING_S = 5.0


class Witness(Protocol):
    """What samples the connections of a transfer (TCP_INFO)."""

    def watch(self, stream: int, direction: str, sock: socket.socket) -> None:
        """A connection begins."""

    def unwatch(self, stream: int, direction: str) -> None:
        """It is about to be closed."""


@dataclass(frozen=True)
class Ended:
    """What came of the streams of a transfer."""

    received: tuple[Received, ...] | None
    """Of an upload; None if there was none, or a stream is missing."""
    sent: Sent | None
    """Of a download, likewise."""
    error: str | None


class Transfer:
    """A transfer that was prepared: `take` gets its connections, `wait` its end. Safe to use from several threads."""

    def __init__(
        self, request: TransferRequest, context: ssl.SSLContext | None, witness: Witness, stall_s: float
    ) -> None:
        self.request = request
        self._context = context
        self._witness = witness
        self._stall_s = stall_s
        self._sizes = shares(request.bytes, request.streams)
        self._block = new_block(min(request.random_bytes, request.bytes)) if request.direction != UPLOAD else None
        self._lock = threading.Lock()
        self._awaited = {(d, s) for d in directions_of(request.direction) for s in range(request.streams)}
        self._left = len(self._awaited)
        self._over = threading.Event()
        self._sockets: dict[tuple[str, int], socket.socket] = {}
        self._threads: list[threading.Thread] = []
        self._received: dict[int, Received] = {}
        self._sent: set[int] = set()
        self._error: str | None = None

    @property
    def awaited(self) -> int:
        """How many connections have not come yet."""
        return len(self._awaited)

    def take(self, stream: Stream, sock: socket.socket, accept: bytes) -> bool:
        """Give an authenticated connection to the transfer; False if it is not awaited (any more)."""
        place = (stream.direction, stream.stream)
        with self._lock:
            if place not in self._awaited or self._over.is_set():
                return False
            thread = threading.Thread(target=self._live, args=(stream, sock, accept), name="stream", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more threads
                return False
            self._awaited.discard(place)
            self._sockets[place] = sock
            self._threads.append(thread)
        return True

    def wait(self, timeout_s: float) -> Ended:
        """Wait until all streams have ended, at most so long, and end what is left."""
        if not self._over.wait(timeout_s):
            self.interrupt(f"{self._left} of its streams did not end")
        self.stop()
        with self._lock:
            return Ended(self._all_received(), self._all_sent(), self._error)

    def interrupt(self, reason: str) -> None:
        """Let all streams end, without waiting for their threads. One that has ended well stays so."""
        with self._lock:
            if not self._over.is_set():
                self._error = self._error or reason
            self._over.set()
            for sock in self._sockets.values():
                shut_down(sock)

    def stop(self) -> None:
        """End all streams and wait for their threads."""
        self.interrupt("it was given up")
        for thread in list(self._threads):
            thread.join()

    def _live(self, stream: Stream, sock: socket.socket, accept: bytes) -> None:
        place = (stream.direction, stream.stream)
        try:
            give_up_after(sock, self._stall_s)
            set_options(sock, self.request.options)
            self._witness.watch(stream.stream, stream.direction, sock)
            sock.sendall(accept)
            self._move(stream, sock if self._context is None else self._wrapped(place, sock, self._context))
        except WireError as error:
            self._failed(str(error))
        except OSError as error:
            self._failed(f"connection lost ({error.strerror or error})")
        except Exception as error:  # noqa: BLE001 - a defect, or memory at its end: told, and the receiver goes on
            self._failed(f"the receiver could not do it ({type(error).__name__})")
        finally:
            self._witness.unwatch(stream.stream, stream.direction)
            with self._lock:
                self._sockets.pop(place).close()
            self._ended()

    def _wrapped(self, place: tuple[str, int], sock: socket.socket, context: ssl.SSLContext) -> socket.socket:
        wrapped = server_wrap(sock, context)
        with self._lock:
            self._sockets[place] = wrapped
            if self._over.is_set():
                raise ReceiverGone("it was given up")
        handshake(wrapped, self._stall_s)
        return wrapped

    def _move(self, stream: Stream, sock: socket.socket) -> None:
        size = self._sizes[stream.stream]
        block_bytes = fresh_bytes(size, self.request.random_bytes, self.request.streams)
        if stream.direction == UPLOAD:
            received = receive_stream(sock, size, block_bytes, Progress(), lambda: send_done(sock, size))
            with self._lock:
                self._received[stream.stream] = received
        else:
            assert self._block is not None
            wait_for_go(sock)
            send_stream(sock, self._block[:block_bytes], size, Progress())
            wait_for_done(sock, size)
            with self._lock:
                self._sent.add(stream.stream)
        _wait_for_close(sock)

    def _failed(self, reason: str) -> None:
        with self._lock:
            self._error = self._error or reason

    def _ended(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0 or self._error:
                self._over.set()

    def _all_received(self) -> tuple[Received, ...] | None:
        if self.request.direction == DOWNLOAD or len(self._received) != self.request.streams:
            return None
        return tuple(self._received[stream] for stream in range(self.request.streams))

    def _all_sent(self) -> Sent | None:
        if self._block is None or len(self._sent) != self.request.streams:
            return None
        blocks = [self._block[: fresh_bytes(size, self.request.random_bytes, len(self._sizes))] for size in self._sizes]
        return Sent(self._sizes, tuple(digest(block) for block in blocks))


def _wait_for_close(sock: socket.socket) -> None:
    """Let the sender close first, so that its FIN is in both captures and TIME_WAIT is not here.

    Beneath TLS, which would answer a FIN without its own farewell with an alert, and that meets a reset.
    """
    give_up_after(sock, _CLOSING_S)
    try:
        socket.socket.recv(sock, 1)
    except OSError:
        return  # it went without a word: all bytes are here nevertheless
