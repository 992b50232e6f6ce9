"""One data connection at the sender, from SYN to FIN, in a thread of its own.

connect, HELLO, AUTH   [TLS: ACCEPT, TLS handshake]   all wait for each other   payload   [no TLS: ACCEPT]   DONE

AUTH does not wait for the other streams: an unproven connection has but seconds at the receiver.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass
from typing import Protocol

from vmtrace.sender.wire import handshake
from vmtrace.sender.wire.channel import receive_exactly
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.data_connection import Stream, pack_subject, send_done, send_go, wait_for_done
from vmtrace.sender.wire.endpoint import connect, give_up_after, name_of, shut_down
from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.records import UPLOAD
from vmtrace.sender.wire.socket_options import SocketOptions
from vmtrace.sender.wire.stream import Progress, Received, receive_stream, send_stream
from vmtrace.sender.wire.tls import TlsFacts, check_certificate, client_wrap
from vmtrace.sender.wire.tls import handshake as tls_handshake

_CONNECTING_S = 20.0
"""For SYN and SYN-ACK: the kernel sends SYN again after 1, 3, 7 and 15 s."""


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
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits for all streams
            failures.append(self._as_told(error))
            self._barrier.abort()

    def stop(self) -> None:
        """Wake the thread from whatever it waits for. Harmless once it has ended."""
        with self._lock:
            self._stopped = True
            if self._socket is not None and self.ended_s == 0:
                shut_down(self._socket)

    def close(self) -> None:
        """Close the connection; the thread must have ended."""
        if self._socket is not None:
            try:
                if self._watched:
                    self._watch.closing(self.job.stream, self.job.direction, self._socket)
            finally:
                self._socket.close()

    def _run(self) -> None:
        hello = self._connect()
        auth = self._authenticate(hello)
        if self._certificate is not None:
            self._accepted(hello, auth)
            self._wrap(self._certificate)
        self._barrier.wait()
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
        control, timeout_s = self._control, min(self.job.stall_s, _CONNECTING_S)
        sock = connect(control.endpoint, control.address, self.job.options, timeout_s, keep=self._keep)
        self.connect_s = time.monotonic() - began_s
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

    def _wrap(self, certificate_sha256: str) -> None:
        wrapped = client_wrap(self._kept())
        self._keep(wrapped)
        self.tls = tls_handshake(wrapped, self.job.stall_s)
        check_certificate(wrapped, certificate_sha256)

    def _keep(self, sock: socket.socket) -> None:
        with self._lock:
            self._socket = sock
            if self._stopped:
                raise ReceiverGone("the transfer is given up")

    def _kept(self) -> socket.socket:
        assert self._socket is not None
        return self._socket

    def _as_told(self, error: BaseException) -> BaseException:
        if not isinstance(error, OSError) or self.name is None:
            return error
        return ReceiverGone(f"{self.name.peer}: connection lost ({error.strerror or error})")
