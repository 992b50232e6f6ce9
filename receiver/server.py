"""The receiver's door: accepts connections, lets those prove the key that can, hands them on. One thread, no waiting.

A connection costs a socket and some hundred bytes until the key is proven. When too many are unproven the oldest is
closed, so that a crowd of silent ones keeps nobody out who answers within a round trip.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import OrderedDict

from receiver.admission import Admission
from receiver.certificate import Certificate, load_certificate, own_certificate
from receiver.listening import listen
from receiver.log import Log
from receiver.newcomer import Newcomer, greet
from receiver.session import Session
from receiver.settings import ReceiverSettings
from sender.wire import handshake
from sender.wire.channel import Channel
from sender.wire.data_connection import read_subject
from sender.wire.endpoint import keep_alive, name_of

_GLANCE_S = 0.5
_ACCEPTED_AT_ONCE = 64
_SILENCE_S = 20
_LEAVING_S = 10.0


class Server:
    """Listens from construction on; `serve` until `stop`."""

    def __init__(self, settings: ReceiverSettings, key: bytes, log: Log, version: str) -> None:
        self._settings = settings
        self._key = key
        self._log = log
        self._version = version
        self._admission = Admission(settings.admission)
        self._newcomers: OrderedDict[int, Newcomer] = OrderedDict()
        self._sessions: dict[bytes, tuple[Session, threading.Thread]] = {}
        self._lock = threading.Lock()
        self._certificate: Certificate | None = None
        self._stopping = threading.Event()
        self._listener = listen(settings.bind, settings.port)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)

    @property
    def address(self) -> str:
        """Where it listens."""
        return name_of(self._listener.getsockname())

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._listener.getsockname()[1])

    def stop(self) -> None:
        """Let `serve` end; may be called from a signal handler or another thread."""
        self._stopping.set()

    def serve(self) -> None:
        """Serve until `stop`; then sessions are ended and everything closed."""
        try:
            while not self._stopping.is_set():
                for key, _ in self._selector.select(_GLANCE_S):
                    if key.fileobj is self._listener:
                        self._accept()
                    else:
                        self._hear(key.fd)
                self._drop_late()
        finally:
            self._close()

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, socket_address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                # Out of descriptors, most likely: the oldest strangers go first.
                self._log.trouble(f"cannot accept a connection: {error.strerror}")
                self._drop_oldest()
                return
            self._welcome(sock, str(socket_address[0]))

    def _welcome(self, sock: socket.socket, address: str) -> None:
        now_s = time.monotonic()
        if not self._admission.admit(address, now_s):
            sock.close()
            return
        newcomer = greet(sock, address, now_s + self._settings.admission.introduction_s)
        if newcomer is None:
            self._admission.settled(address)
            sock.close()
            return
        if len(self._newcomers) >= self._settings.admission.unproven:
            self._drop_oldest()
        self._newcomers[sock.fileno()] = newcomer
        self._selector.register(sock, selectors.EVENT_READ)

    def _hear(self, descriptor: int) -> None:
        newcomer = self._newcomers.get(descriptor)
        if newcomer is None:
            return  # dropped meanwhile
        whole = newcomer.read()
        if whole is None:
            return
        self._let_go(descriptor)
        if not whole or not self._introduced(newcomer):
            newcomer.socket.close()

    def _introduced(self, newcomer: Newcomer) -> bool:
        """Judge a whole AUTH; True if the connection was handed on."""
        try:
            introduction = handshake.read_auth(newcomer.auth)
        except ValueError:
            return False
        if introduction.version != handshake.VERSION:
            return self._refuse(newcomer, handshake.REFUSED_VERSION)
        if introduction.kind == handshake.DATA:
            return self._data(newcomer, introduction)
        if introduction.kind != handshake.CONTROL or not introduction.proves(self._key, newcomer.hello):
            self._admission.wrong_key(newcomer.address, time.monotonic())
            self._log.event("wrong_key", f"{newcomer.address}: wrong key", peer=newcomer.address)
            return self._refuse(newcomer, handshake.REFUSED_KEY)
        self._admission.right_key(newcomer.address)
        return self._begin_session(newcomer)

    def _begin_session(self, newcomer: Newcomer) -> bool:
        with self._lock:
            if len(self._sessions) >= self._settings.sessions:
                return self._refuse(newcomer, handshake.REFUSED_BUSY)
        sock = newcomer.socket
        try:
            peer = name_of(sock.getpeername())
            sock.setblocking(True)
            keep_alive(sock, _SILENCE_S)
            sock.sendall(handshake.new_accept(self._key, newcomer.hello, newcomer.auth))
        except OSError:
            return False
        session_key = handshake.session_key(self._key, newcomer.hello, newcomer.auth)
        channel = Channel(sock, session_key, client=False, peer=peer)
        session = Session(channel, session_key, self._settings, self._own_certificate, self._log, self._version)
        thread = threading.Thread(target=self._live, args=(session,), daemon=True)
        with self._lock:
            self._sessions[session.name] = (session, thread)
        thread.start()
        return True

    def _live(self, session: Session) -> None:
        try:
            session.run()
        finally:
            with self._lock:
                self._sessions.pop(session.name, None)

    def _data(self, newcomer: Newcomer, introduction: handshake.Introduction) -> bool:
        try:
            stream = read_subject(introduction.subject)
        except ValueError:
            return False
        with self._lock:
            found = self._sessions.get(stream.session)
        if found is None or not introduction.proves(found[0].data_key, newcomer.hello):
            self._admission.wrong_key(newcomer.address, time.monotonic())
            return self._refuse(newcomer, handshake.REFUSED_SUBJECT)
        accept = handshake.new_accept(found[0].data_key, newcomer.hello, newcomer.auth)
        newcomer.socket.setblocking(True)
        return found[0].take(stream, newcomer.socket, accept) or self._refuse(newcomer, handshake.REFUSED_SUBJECT)

    def _refuse(self, newcomer: Newcomer, status: int) -> bool:
        try:
            newcomer.socket.setblocking(False)
            newcomer.socket.send(handshake.new_refusal(status))
        except OSError:
            return False
        return False

    def _own_certificate(self) -> Certificate:
        with self._lock:
            if self._certificate is None:
                path = self._settings.certificate
                self._certificate = load_certificate(path) if path else own_certificate(self._settings.folder / "tls")
            return self._certificate

    def _drop_late(self) -> None:
        now_s = time.monotonic()
        for descriptor, newcomer in list(self._newcomers.items()):
            if now_s < newcomer.deadline_s:
                return  # they stand in order of their deadlines
            self._let_go(descriptor)
            newcomer.socket.close()

    def _drop_oldest(self) -> None:
        if self._newcomers:
            descriptor, newcomer = next(iter(self._newcomers.items()))
            self._let_go(descriptor)
            newcomer.socket.close()

    def _let_go(self, descriptor: int) -> None:
        newcomer = self._newcomers.pop(descriptor)
        self._selector.unregister(newcomer.socket)
        self._admission.settled(newcomer.address)

    def _close(self) -> None:
        self._selector.close()
        self._listener.close()
        for newcomer in self._newcomers.values():
            newcomer.socket.close()
        with self._lock:
            living = list(self._sessions.values())
        for session, _ in living:
            session.hang_up()
        deadline_s = time.monotonic() + _LEAVING_S
        for _, thread in living:
            thread.join(max(0.0, deadline_s - time.monotonic()))
