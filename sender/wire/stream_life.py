"""One data connection at the sender, from SYN to FIN, in a thread of its own.

connect, HELLO   [TLS: AUTH, ACCEPT, TLS handshake]   all streams wait for each other   [no TLS: AUTH]   payload   DONE
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass
from typing import Protocol

from sender.wire import handshake
from sender.wire.channel import receive_exactly
from sender.wire.control import Control
from sender.wire.data_connection import Stream, pack_subject, send_done, send_go, wait_for_done
from sender.wire.endpoint import connect, give_up_after, name_of
from sender.wire.errors import ReceiverGone, WireError
from sender.wire.records import UPLOAD, SocketOptions
from sender.wire.stream import Progress, Received, receive_stream, send_stream
from sender.wire.tls import TlsFacts, client_tls


class Watch(Protocol):
    """What wants to know of a transfer while it runs. Called from several threads, briefly."""

    def connected(self, stream: int, direction: str, sock: socket.socket) -> None:
        """A data connection is established."""

    def closing(self, stream: int, direction: str, sock: socket.socket) -> None:
        """It is about to be closed."""

    def moved(self, moved_bytes: int) -> None:
        """So many bytes, of all streams, have been moved so far; called about ten times a second."""


@dataclass(frozen=True)
class ConnectionName:
    """A data connection as the sender sees it, to find it in a capture."""

    stream: int
    direction: str
    local: str
    peer: str


@dataclass(frozen=True)
class Job:
    """What one stream is to do."""

    transfer: int
    stream: int
    direction: str
    bytes: int
    block: memoryview
    """An upload sends this; of a download only its length counts."""
    options: SocketOptions
    stall_s: float


class StreamLife:
    """`run` in a thread; afterwards its attributes say what came of it."""

    def __init__(
        self, control: Control, job: Job, certificate_sha256: str | None, barrier: threading.Barrier, watch: Watch
    ) -> None:
        self.job = job
        self.progress = Progress()
        self.name: ConnectionName | None = None
        self.connect_s = 0.0
        self.received: Received | None = None
        self.tls: TlsFacts | None = None
        self.ended_s = 0.0
        self._control = control
        self._certificate = certificate_sha256
        self._barrier = barrier
        self._watch = watch
        self._socket: socket.socket | None = None
        self._watched = False
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, failures: list[BaseException]) -> None:
        """Live; what goes wrong is put into `failures`, and lets the other streams' wait end."""
        try:
            self._run()
        except threading.BrokenBarrierError:
            return  # another stream failed: its failure is the one to tell
        except (WireError, OSError) as error:
            failures.append(self._as_told(error))
            self._barrier.abort()

    def stop(self) -> None:
        """Wake the thread from whatever it waits for. Harmless once it has ended."""
        with self._lock:
            self._stopped = True
            if self._socket is not None and self.ended_s == 0:
                _shut_down(self._socket)

    def close(self) -> None:
        """Close the connection; the thread must have ended."""
        if self._socket is not None:
            if self._watched:
                self._watch.closing(self.job.stream, self.job.direction, self._socket)
            self._socket.close()

    def _run(self) -> None:
        hello = self._connect()
        if self._certificate is not None:
            auth = self._authenticate(hello)
            self._accepted(hello, auth)
            self._keep(self._wrap(self._certificate))
            self._barrier.wait()
        else:
            self._barrier.wait()
            auth = self._authenticate(hello)
        sock = self._kept()
        if self.job.direction == UPLOAD:
            send_stream(sock, self.job.block, self.job.bytes, self.progress)
            if self._certificate is None:
                self._accepted(hello, auth)
            wait_for_done(sock, self.job.bytes)
            self.ended_s = time.monotonic()
        else:
            send_go(sock)
            if self._certificate is None:
                self._accepted(hello, auth)
            self.received = receive_stream(sock, self.job.bytes, len(self.job.block), self.progress, self._all_here)

    def _all_here(self) -> None:
        self.ended_s = time.monotonic()
        send_done(self._kept(), self.job.bytes)

    def _connect(self) -> bytes:
        began_s = time.monotonic()
        sock = connect(self._control.endpoint, self._control.address, self.job.options, self.job.stall_s)
        self.connect_s = time.monotonic() - began_s
        self._keep(sock)
        peer = name_of(sock.getpeername())
        self.name = ConnectionName(self.job.stream, self.job.direction, name_of(sock.getsockname()), peer)
        self._watch.connected(self.job.stream, self.job.direction, sock)
        self._watched = True
        hello = receive_exactly(sock, handshake.HELLO_BYTES, time.monotonic() + self.job.stall_s, peer)
        handshake.check_hello(hello, peer)
        sock.settimeout(None)
        give_up_after(sock, self.job.stall_s)
        return hello

    def _authenticate(self, hello: bytes) -> bytes:
        place = Stream(self._control.session_name, self.job.transfer, self.job.stream, self.job.direction)
        auth = handshake.new_auth(self._control.data_key, hello, handshake.DATA, pack_subject(place))
        self._kept().sendall(auth)
        return auth

    def _accepted(self, hello: bytes, auth: bytes) -> None:
        sock, peer = self._kept(), self.name.peer if self.name else "the receiver"
        accept = receive_exactly(sock, handshake.ACCEPT_BYTES, time.monotonic() + self.job.stall_s, peer)
        handshake.check_accept(self._control.data_key, hello, auth, accept, peer)
        sock.settimeout(None)

    def _wrap(self, certificate_sha256: str) -> socket.socket:
        wrapped, self.tls = client_tls(self._kept(), certificate_sha256, self.job.stall_s)
        give_up_after(wrapped, self.job.stall_s)
        return wrapped

    def _keep(self, sock: socket.socket) -> None:
        with self._lock:
            self._socket = sock
            if self._stopped:
                _shut_down(sock)

    def _kept(self) -> socket.socket:
        assert self._socket is not None
        return self._socket

    def _as_told(self, error: Exception) -> Exception:
        if isinstance(error, WireError) or not isinstance(error, OSError) or self.name is None:
            return error
        return ReceiverGone(f"{self.name.peer}: connection lost ({error.strerror or error})")


def _shut_down(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # not connected any more
