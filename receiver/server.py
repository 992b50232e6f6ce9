"""The receiver's door: accepts connections, lets those prove the key that can, hands them on. One thread, no waiting.

A connection costs a socket and some hundred bytes until the key is proven. When too many are unproven the oldest of the
most crowded network is closed (`places`): a crowd keeps nobody out who answers within a round trip.
"""

from __future__ import annotations

import errno
import selectors
import socket
import threading
import time

from vmtrace.receiver.admission import Admission, origin_of
from vmtrace.receiver.certificate import load_certificate, own_certificate
from vmtrace.receiver.log import Log
from vmtrace.receiver.newcomer import Newcomer, greet
from vmtrace.receiver.places import Places, network_of, open_files
from vmtrace.receiver.session import Session, Surroundings
from vmtrace.receiver.sessions import Sessions
from vmtrace.receiver.settings import ReceiverSettings
from vmtrace.sender.wire import handshake
from vmtrace.sender.wire.data_connection import read_subject
from vmtrace.sender.wire.endpoint import keep_alive, name_of, plain_host
from vmtrace.sender.wire.errors import WireError
from vmtrace.sender.wire.tls import server_wrap

_GLANCE_S = 0.5
_REST_S = 0.1
_ACCEPTED_AT_ONCE = 64
_SILENCE_S = 20
_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Server:
    """Listens from construction on; `serve` until `stop`. Raises `NoCertificate` where there is none to show."""

    def __init__(self, settings: ReceiverSettings, key: bytes, log: Log, version: str) -> None:
        self._settings = settings
        self._key = key
        self._log = log
        self._admission = Admission(settings.admission)
        self._places = Places(min(settings.admission.unproven, open_files() // 2))
        self._sessions = Sessions(settings.sessions)
        self._certificate = (
            load_certificate(settings.certificate) if settings.certificate else own_certificate(settings.folder / "tls")
        )
        self._surroundings = Surroundings(settings, log, version, self._certificate, self._sessions.claim)
        self._stopping = threading.Event()
        self._resting_until_s: float | None = None
        self._listener = listen(settings.bind, settings.port)
        self._awake, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._awake, selectors.EVENT_READ)

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
        try:
            self._wake.send(b"\0")
        except OSError:
            return  # it has ended, or is woken already

    def serve(self) -> None:
        """Serve until `stop`; then sessions are ended and everything closed."""
        try:
            while not self._stopping.is_set():
                for key, _ in self._selector.select(_GLANCE_S if self._resting_until_s is None else _REST_S):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is not self._awake:
                        self._on_readable(key.fd)
                self._glance(time.monotonic())
        finally:
            self._close()

    def _glance(self, now_s: float) -> None:
        self._drop_late(now_s)
        self._sessions.check_time(now_s)
        if self._resting_until_s is not None and now_s >= self._resting_until_s:
            self._resting_until_s = None
            self._selector.register(self._listener, selectors.EVENT_READ)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, socket_address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _OUT_OF_RESOURCES:
                    self._rest(error)
                    return
                continue  # that connection was over before it was accepted
            self._welcome(sock, plain_host(str(socket_address[0])))

    def _rest(self, error: OSError) -> None:
        """Leave new connections to the kernel's queue for a moment: to try at once would only burn the processor."""
        self._log.hostile("no_descriptors", f"cannot accept connections just now: {error.strerror}")
        self._make_room()
        self._selector.unregister(self._listener)
        self._resting_until_s = time.monotonic() + _REST_S

    def _welcome(self, sock: socket.socket, host: str) -> None:
        now_s = time.monotonic()
        origin = origin_of(host)
        awaited = self._sessions.awaited_from(host)
        if not self._admission.admit(origin, now_s, awaited):
            sock.close()
            return
        reserved = awaited > 0 or self._admission.has_proved(origin)
        hello = greet(sock) if not self._places.is_full or self._make_room() or reserved else None
        if hello is None:
            self._admission.settled(origin)
            sock.close()
            return
        deadline_s = now_s + self._settings.admission.introduction_s
        newcomer = Newcomer(sock, host, origin, network_of(host), hello, deadline_s, reserved)
        self._places.take(sock.fileno(), newcomer)
        self._selector.register(sock, selectors.EVENT_READ)

    def _on_readable(self, descriptor: int) -> None:
        newcomer = self._places.find(descriptor)
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
            self._wrong_key(newcomer)
            return self._refuse(newcomer, handshake.REFUSED_KEY)
        self._admission.right_key(newcomer.origin)
        return self._begin_session(newcomer)

    def _begin_session(self, newcomer: Newcomer) -> bool:
        if self._sessions.full:
            return self._refuse(newcomer, handshake.REFUSED_BUSY)
        sock = newcomer.socket
        try:
            peer = name_of(sock.getpeername())
            sock.setblocking(True)
            keep_alive(sock, _SILENCE_S)
            sock.sendall(handshake.new_accept(self._key, newcomer.hello, newcomer.auth, self._certificate.digest))
            newcomer.socket = wrapped = server_wrap(sock, self._certificate.control)
        except (OSError, WireError):
            return False
        session_key = handshake.session_key(self._key, newcomer.hello, newcomer.auth, self._certificate.digest)
        return self._sessions.start(Session(wrapped, peer, newcomer.host, session_key, self._surroundings))

    def _data(self, newcomer: Newcomer, introduction: handshake.Introduction) -> bool:
        try:
            stream = read_subject(introduction.subject)
        except ValueError:
            return False
        session = self._sessions.find(stream.session)
        if session is None:  # a late stream of a session that is over, most likely: no wrong key
            return self._refuse(newcomer, handshake.REFUSED_SUBJECT)
        if not introduction.proves(session.data_key, newcomer.hello):
            self._wrong_key(newcomer)
            return self._refuse(newcomer, handshake.REFUSED_SUBJECT)
        accept = handshake.new_accept(session.data_key, newcomer.hello, newcomer.auth)
        newcomer.socket.setblocking(True)
        return session.take(stream, newcomer.socket, accept) or self._refuse(newcomer, handshake.REFUSED_SUBJECT)

    def _wrong_key(self, newcomer: Newcomer) -> None:
        self._admission.wrong_key(newcomer.origin, time.monotonic())
        self._log.hostile("wrong_key", f"{newcomer.origin}: wrong key", peer=newcomer.origin)

    def _refuse(self, newcomer: Newcomer, status: int) -> bool:
        try:
            newcomer.socket.setblocking(False)
            newcomer.socket.send(handshake.new_refusal(status))
        except OSError:
            return False
        return False

    def _drop_late(self, now_s: float) -> None:
        while (descriptor := self._places.late(now_s)) is not None:
            self._let_go(descriptor).socket.close()

    def _make_room(self) -> bool:
        descriptor = self._places.gives_way()
        if descriptor is not None:
            self._let_go(descriptor).socket.close()
        return descriptor is not None

    def _let_go(self, descriptor: int) -> Newcomer:
        newcomer = self._places.leave(descriptor)
        self._selector.unregister(newcomer.socket)
        self._admission.settled(newcomer.origin)
        return newcomer

    def _close(self) -> None:
        self._selector.close()
        for sock in (self._listener, self._awake, self._wake):
            sock.close()
        for newcomer in self._places.all():
            newcomer.socket.close()
        self._sessions.end()


_BACKLOG = 4096  # a crowd of thousands a second must not make the kernel drop an honest SYN meanwhile


def listen(bind: str | None, port: int) -> socket.socket:
    """A non-blocking listening socket on `bind` (None: all addresses). Raises `OSError` with one clear line."""
    family, address = _where(bind, port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if bind is None else 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise OSError(error.errno, _reason(error, bind, port)) from error
    return sock


def _where(bind: str | None, port: int) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    if bind is None:
        if _has_ipv6():
            return socket.AF_INET6, ("::", port)
        return socket.AF_INET, ("0.0.0.0", port)
    try:
        found = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise OSError(errno.EADDRNOTAVAIL, f"cannot listen on {bind}: not an address of this host") from error
    return found[0][0], found[0][4]


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            sock.bind(("::", 0))
    except OSError:
        return False
    return True


def _reason(error: OSError, bind: str | None, port: int) -> str:
    where = f"{bind or 'this host'}, port {port}"
    if error.errno == errno.EADDRINUSE:
        return f"{where}: taken by another program: choose another --port, or end that program"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"cannot listen on {bind}: not an address of this host"
    if error.errno == errno.EACCES:
        return f"{where}: not allowed: ports below 1024 need root"
    return f"{where}: {error.strerror}"
