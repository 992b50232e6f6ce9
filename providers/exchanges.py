"""What an SDK says over HTTP, observed where all of them speak: urllib3's connections.

boto3, azure-storage-blob (through requests) and python-swiftclient (through requests) send every request by a
`urllib3.connection.HTTPConnection`. While `HttpObserver` is entered, four methods of that class tell it of requests,
their bodies, responses and failed connects; the bytes themselves are not touched. That gives, alike for all services,
addresses, status, request ids, times and repeats, including those that an SDK makes without telling.

A repeat is a request of the same method, URL and range as one before it in the same exchange, or whatever follows a
connect that failed.

Every exchange has a deadline, and every request outside of one: what drips, or never ends, is broken off. Then its
connections are shut, and the SDK's further requests are refused.
"""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import WeakKeyDictionary, WeakSet

from vmtrace.capture.tcp_info_layout import SIZE, decode
from vmtrace.providers.clock import REAL, Clock
from vmtrace.providers.errors import ErrorKind, ServiceError

CALL_S = 600.0
"""How long a call to a service may take, with all that its SDK repeats; SDKs of today give up after half of it."""
_SLOWEST_BYTES_PER_S = 10_000
_FURTHER_OBJECT_S = 1.0
_LOOK_EVERY_S = 0.1
# Where the services put the id of a request.
_ID_HEADERS = ("x-amz-request-id", "x-amzn-requestid", "x-ms-request-id", "x-trans-id", "x-openstack-request-id")
_RANGE_HEADERS = frozenset({"range", "x-ms-range"})
_WITH_CONTENT = (200, 206)
_LENGTH_HEADERS = frozenset({"content-length", "x-amz-decoded-content-length"})


class Meter(Protocol):
    """Hears of every request and body before it is sent or read, and may refuse by raising."""

    def request(self, method: str, target: str) -> None:
        """A request is about to be sent."""

    def upload(self, size_bytes: int) -> None:
        """A body of that size is about to be sent."""

    def download(self, size_bytes: int) -> None:
        """A body of that size is about to be read."""


@dataclass(slots=True)
class _Attempt:
    """A request, or a connect that failed before there was one."""

    start_ns: int = 0
    method: str = ""
    url: str = ""
    range: str = ""
    body_told: bool = False
    status: int | None = None
    request_id: str | None = None
    first_byte_ns: int | None = None
    failed_ns: int | None = None
    local: str | None = None
    peer: str | None = None
    failed_connect: bool = False

    def key(self) -> tuple[str, str, str]:
        return self.method, self.url, self.range

    def cause(self) -> str:
        """Why it had to be made again."""
        if self.status is None:
            return "connection"
        return str(self.status) if self.status >= 400 else "body"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request of an exchange, or a connect that failed; `status` and `first_byte_ns` are None of no response."""

    method: str
    url: str
    start_ns: int
    first_byte_ns: int | None
    status: int | None
    failed_ns: int | None = None
    backoff_s: float | None = None
    """Since the one before was over; None of the first, and where that is not known."""

    def as_record(self) -> dict[str, Any]:
        """For a line of JSON; the URL may hold a token and stays out of it."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "url"}


@dataclass(frozen=True, slots=True)
class ConnectionUse:
    """A TCP connection, as `addr:port` of both ends, and what an exchange did with it."""

    local: str
    peer: str
    requests: int
    opened: bool
    """Not used by any exchange before."""
    rtt_s: float | None = None
    """As the kernel had measured it when it was first asked: of the handshake, where the connection was new."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was said for one purpose; times as in docs/storage.md."""

    start_ns: int
    end_ns: int
    duration_s: float
    first_byte_ns: int | None = None
    requests: int = 0
    retries: int = 0
    retry_causes: Mapping[str, int] = field(default_factory=dict)
    status: int | None = None
    request_id: str | None = None
    front_end: str | None = None
    connections: tuple[ConnectionUse, ...] = ()

    def as_record(self) -> dict[str, Any]:
        """For a line of JSON."""
        record = {name: getattr(self, name) for name in self.__slots__}
        uses = [{name: getattr(use, name) for name in use.__slots__} for use in self.connections]
        return {**record, "retry_causes": dict(self.retry_causes), "connections": uses}


@dataclass(slots=True)
class _Scope:
    """What is being said for one purpose."""

    began: tuple[int, int] = (0, 0)
    metered: bool = False
    allowed_s: float | None = None
    """None outside of exchanges: then each request has its own time."""
    ends_s: float | None = None
    late: ServiceError | None = None
    unannounced: bool = False
    attempts: list[_Attempt] = field(default_factory=list)
    open: dict[int, _Attempt] = field(default_factory=dict)
    connections: WeakSet[Any] = field(default_factory=WeakSet)


class HttpObserver:
    """Entered once at a time in a process; `begin` and `end` enclose an exchange.

    An exchange of `own_thread` has the requests of the thread that began it, so that several can go on at once. All
    other requests, of whatever thread of an SDK, belong to the one exchange that is shared.
    """

    _entered = threading.Lock()

    def __init__(self, meter: Meter | None = None, clock: Clock = REAL, call_s: float = CALL_S) -> None:
        self._meter = meter
        self._clock = clock
        self._call_s = call_s
        self._left = threading.Event()
        self._lock = threading.Lock()
        self._shared = _Scope()
        self._own: dict[int, _Scope] = {}
        self._closing: Exception | None = None
        self._seen: set[tuple[str, str]] = set()
        self._ends_of: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()
        self._rtts_s: dict[tuple[str, str], float | None] = {}
        self._undo: list[Callable[[], None]] = []
        self.front_ends: dict[str, None] = {}
        """Addresses of all peers, in order of their first use."""

    def __enter__(self) -> Self:
        if not self._entered.acquire(blocking=False):
            raise RuntimeError("HTTP is observed already: one run at a time in a process")
        from urllib3.connection import HTTPConnection, HTTPSConnection

        for owner, name, wrapper in (
            (HTTPConnection, "putrequest", self._putrequest),
            (HTTPConnection, "putheader", self._putheader),
            (HTTPConnection, "getresponse", self._getresponse),
            (HTTPConnection, "connect", self._connect),
            (HTTPSConnection, "connect", self._connect),
        ):
            self._wrap(owner, name, wrapper)
        self._left.clear()
        threading.Thread(target=self._watch, name="deadlines", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        while self._undo:
            self._undo.pop()()
        self._entered.release()

    def forget_connections(self) -> None:
        """A new client begins: whatever connection it uses, it opened."""
        with self._lock:
            self._seen.clear()

    def begin(self, *, metered: bool = False, own_thread: bool = False, size_bytes: int = 0, objects: int = 1) -> None:
        """An exchange begins; with `metered` the meter hears of its bodies (of its requests it hears always).

        Its deadline: the time of a call, and more for what it is to move or for each further object.
        """
        allowed_s = self._call_s + size_bytes / _SLOWEST_BYTES_PER_S + max(0, objects - 1) * _FURTHER_OBJECT_S
        scope = _Scope((self._clock.wall_ns(), self._clock.elapsed_ns()), metered, allowed_s)
        scope.ends_s = time.monotonic() + allowed_s
        with self._lock:
            if own_thread:
                self._own[threading.get_ident()] = scope
            else:
                self._shared = scope

    def received(self, size_bytes: int) -> None:
        """So much of a body came: counted now, if its size was not announced (chunked)."""
        if self._scope().unannounced and self._meter is not None:
            self._meter.download(size_bytes)

    def attempts(self) -> list[Attempt]:
        """The requests of the exchange that goes on in this thread, so far."""
        with self._lock:
            found = list(self._scope().attempts)
        made: list[Attempt] = []
        over_ns: int | None = None
        for one in found:
            backoff_s = None if over_ns is None else max(0.0, (one.start_ns - over_ns) / 1e9)
            made.append(
                Attempt(one.method, one.url, one.start_ns, one.first_byte_ns, one.status, one.failed_ns, backoff_s)
            )
            over_ns = one.first_byte_ns or one.failed_ns
        return made

    @property
    def late(self) -> ServiceError | None:
        """Why the exchange of this thread was broken off, if it was: it went on beyond its deadline."""
        return self._scope().late

    def end(self, *, keep_connections: bool = True) -> Exchange:
        """What was said since `begin`. Without `keep_connections` its connections are closed: the next is a new one."""
        took_ns = self._clock.elapsed_ns() - self._scope().began[1]
        with self._lock:
            scope = self._own.pop(threading.get_ident(), None)
            if scope is None:
                scope, self._shared = self._shared, _Scope(self._shared.began)
            attempts = scope.attempts
        start_ns = scope.began[0]
        answered = [attempt for attempt in attempts if attempt.status is not None]
        causes = _retry_causes(attempts)
        last = max(answered, key=lambda attempt: attempt.first_byte_ns or 0, default=_Attempt())
        uses = self._uses(attempts)
        if not keep_connections:
            for connection in list(scope.connections):
                connection.close()
            with self._lock:
                self._seen.difference_update((use.local, use.peer) for use in uses)  # ports come again
                for use in uses:
                    self._rtts_s.pop((use.local, use.peer), None)
        return Exchange(
            start_ns=start_ns,
            end_ns=start_ns + took_ns,
            duration_s=took_ns / 1e9,
            first_byte_ns=last.first_byte_ns,
            requests=sum(not attempt.failed_connect for attempt in attempts),
            retries=sum(causes.values()),
            retry_causes=dict(causes),
            status=last.status,
            request_id=last.request_id,
            front_end=last.peer,
            connections=uses,
        )

    def abort(self, error: Exception) -> None:
        """Break off what other threads are saying: their requests, and all later ones, raise `error`."""
        with self._lock:
            self._closing = error
            connections = [one for scope in (self._shared, *self._own.values()) for one in scope.connections]
        _shut(connections)

    @property
    def aborted(self) -> bool:
        """Since `abort`, until `resume`."""
        return self._closing is not None

    def resume(self) -> None:
        """Requests are let through again after `abort`."""
        self._closing = None

    def _watch(self) -> None:
        while not self._left.wait(_LOOK_EVERY_S):
            connections = []
            with self._lock:
                for scope in (self._shared, *self._own.values()):
                    if scope.ends_s is not None and time.monotonic() > scope.ends_s:
                        allowed_s = self._call_s if scope.allowed_s is None else scope.allowed_s
                        scope.late = ServiceError(ErrorKind.ENDPOINT_GONE, f"no end within {allowed_s:g} s")
                        connections += list(scope.connections)
            _shut(connections)  # again and again: an SDK that repeats opens others

    def _let_through(self, scope: _Scope) -> None:
        """Raises why no request may be made now; one outside of an exchange has its own time."""
        closing = self._closing or (scope.late if scope.allowed_s is not None else None)
        if closing is not None:
            raise closing
        if scope.allowed_s is None:
            scope.ends_s, scope.late = time.monotonic() + self._call_s, None

    def _scope(self) -> _Scope:
        return self._own.get(threading.get_ident(), self._shared)

    def _uses(self, attempts: list[_Attempt]) -> tuple[ConnectionUse, ...]:
        counts: dict[tuple[str, str], int] = {}
        for attempt in attempts:
            if attempt.local is not None and attempt.peer is not None:
                pair = attempt.local, attempt.peer
                counts[pair] = counts.get(pair, 0) + 1
        with self._lock:
            uses = tuple(
                ConnectionUse(*pair, count, pair not in self._seen, self._rtts_s.get(pair))
                for pair, count in counts.items()
            )
            self._seen.update(counts)
            self.front_ends.update(dict.fromkeys(peer for _, peer in counts))
        return uses

    # What the wrapped methods do besides their work. `original` is the method of urllib3.

    def _putrequest(self, original: Callable[..., Any], connection: Any, *args: Any, **kwargs: Any) -> Any:
        method, url = str(args[0] if args else kwargs["method"]), str(args[1] if len(args) > 1 else kwargs["url"])
        scope = self._scope()
        self._let_through(scope)
        if self._meter is not None:
            self._meter.request(method, url)
        attempt = _Attempt(self._clock.wall_ns(), method, f"{connection.host}:{connection.port}{url}")
        attempt.local, attempt.peer = self._ends(connection)
        with self._lock:
            scope.attempts.append(attempt)
            scope.open[id(connection)] = attempt
            scope.connections.add(connection)
        return original(connection, *args, **kwargs)

    def _putheader(self, original: Callable[..., Any], connection: Any, *args: Any, **kwargs: Any) -> Any:
        scope = self._scope()
        attempt = scope.open.get(id(connection))
        if attempt is not None and args:
            name, value = _text(args[0]).lower(), _text(args[1]) if len(args) > 1 else ""
            if name in _RANGE_HEADERS:
                attempt.range = value
            elif name in _LENGTH_HEADERS and value.isdigit() and not attempt.body_told:
                attempt.body_told = True
                if self._meter is not None and scope.metered:
                    self._meter.upload(int(value))
        return original(connection, *args, **kwargs)

    def _getresponse(self, original: Callable[..., Any], connection: Any, *args: Any, **kwargs: Any) -> Any:
        scope = self._scope()
        attempt = scope.open.pop(id(connection), None)
        if attempt is not None and attempt.peer is None:
            attempt.local, attempt.peer = self._ends(connection)
        try:
            response = original(connection, *args, **kwargs)
        except BaseException:
            if attempt is not None:
                attempt.failed_ns = self._clock.wall_ns()
            raise
        if attempt is not None:
            attempt.first_byte_ns = self._clock.wall_ns()
            attempt.status = int(response.status)
            attempt.request_id = next(filter(None, map(response.headers.get, _ID_HEADERS)), None)
            length = response.headers.get("content-length", "")
            if self._meter is not None and scope.metered and attempt.method != "HEAD":
                scope.unannounced = not length.isdigit() and attempt.status in _WITH_CONTENT
                if length.isdigit():
                    self._meter.download(int(length))
        return response

    def _connect(self, original: Callable[..., Any], connection: Any, *args: Any, **kwargs: Any) -> Any:
        scope = self._scope()
        self._let_through(scope)
        with self._lock:
            scope.connections.add(connection)  # a TLS handshake can drip, too
        began_ns = self._clock.wall_ns()
        try:
            return original(connection, *args, **kwargs)
        except BaseException:
            failed_ns = self._clock.wall_ns()
            with self._lock:
                # Plain HTTP connects within a request, which then stands for both.
                if id(connection) not in scope.open:
                    scope.attempts.append(_Attempt(began_ns, "CONNECT", failed_ns=failed_ns, failed_connect=True))
                else:
                    scope.open[id(connection)].failed_ns = failed_ns
            raise

    def _ends(self, connection: Any) -> tuple[str | None, str | None]:
        """`addr:port` of this end and the other; None where there is no connection.

        The kernel is asked once for each socket: every time it is, another thread may go first.
        """
        sock = getattr(connection, "sock", None)
        if sock is None:
            return None, None
        try:
            known = self._ends_of.get(sock)
            if known is None:
                known = self._ends_of[sock] = _shown(sock.getsockname()), _shown(sock.getpeername())
                self._rtts_s[known] = _rtt_s(sock)
        except (AttributeError, OSError, TypeError):  # closed meanwhile; or not what urllib3 has by itself
            return None, None
        return known

    def _wrap(self, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
        own = owner.__dict__.get(name)
        original = getattr(owner, name)

        def wrapped(connection: Any, *args: Any, **kwargs: Any) -> Any:
            return wrapper(original, connection, *args, **kwargs)

        setattr(owner, name, wrapped)
        self._undo.append(lambda: delattr(owner, name) if own is None else setattr(owner, name, own))


def _shut(connections: Iterable[Any]) -> None:
    """Whoever reads from or writes to them gets an error, in whatever thread."""
    for connection in connections:
        sock = getattr(connection, "sock", None)
        if sock is not None:
            with suppress(OSError, TypeError):  # that of TLS would read on what is left, as if it were plain
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _rtt_s(sock: Any) -> float | None:
    """Of a TCP connection, on Linux."""
    try:
        rtt_us = decode(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE))["rtt_us"]
    except (AttributeError, KeyError, OSError, TypeError):
        return None
    return rtt_us / 1e6 if rtt_us else None


def _retry_causes(attempts: list[_Attempt]) -> Counter[str]:
    causes: Counter[str] = Counter()
    last_of: dict[tuple[str, str, str], _Attempt] = {}
    for position, attempt in enumerate(attempts):
        if attempt.failed_connect:
            if position + 1 < len(attempts):
                causes["connection"] += 1
            continue
        earlier = last_of.get(attempt.key())
        if earlier is not None:
            causes[earlier.cause()] += 1
        last_of[attempt.key()] = attempt
    return causes


def _shown(address: tuple[Any, ...]) -> str:
    host = str(address[0])
    return f"[{host}]:{address[1]}" if ":" in host else f"{host}:{address[1]}"


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
