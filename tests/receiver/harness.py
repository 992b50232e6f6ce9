"""A receiver in a thread of the test, honest and hostile clients for it, and a census of what is left behind."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.eventually import eventually
from vmtrace.receiver.certificate import Certificate
from vmtrace.receiver.log import Log
from vmtrace.receiver.server import Server
from vmtrace.receiver.settings import AdmissionLimits, ReceiverSettings
from vmtrace.sender.wire import handshake
from vmtrace.sender.wire.channel import Channel, receive_exactly
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.data_connection import Stream, data_key, pack_subject, session_name
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import WireError
from vmtrace.sender.wire.records import FarEnd, RunRequest, TransferRequest
from vmtrace.sender.wire.secrecy import secure_receiver, secure_sender
from vmtrace.sender.wire.tls import server_wrap
from vmtrace.sender.wire.transfer import Outcome, run_transfer

KEY = bytes(range(32))
GENEROUS = AdmissionLimits(connections_per_s=100_000, connection_burst=100_000)


class Memo(Log):
    """A log that is read by tests."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def event(self, name: str, text: str, **facts: object) -> None:  # noqa: ARG002
        self.lines.append(f"{name}: {text}")

    def trouble(self, text: str) -> None:
        self.lines.append(f"trouble: {text}")

    def __contains__(self, part: str) -> bool:
        return any(part in line for line in self.lines)


@dataclasses.dataclass
class Running:
    """A receiver that serves."""

    server: Server
    folder: Path
    log: Memo

    @property
    def port(self) -> int:
        return self.server.port

    def endpoint(self, bind_address: str | None = None) -> Endpoint:
        return Endpoint("127.0.0.1", self.port, bind_address=bind_address)

    @contextlib.contextmanager
    def sender(self, bind_address: str | None = None, *, run: bool = True) -> Iterator[Control]:
        control = Control.connect(self.endpoint(bind_address), KEY, 5)
        try:
            if run:
                control.open_run(RunRequest())
            yield control
        finally:
            control.close()

    def serves(self, bind_address: str | None = None) -> None:
        """An honest sender does a whole transfer."""
        with self.sender(bind_address) as control:
            outcome, far = transfer(control, TransferRequest(1, 1, "data", 100_000, "both", 2))
        assert far.error is None
        assert far.arrival is not None
        assert far.arrival.verified
        arrival = outcome.arrival(far)
        assert arrival is not None
        assert arrival.verified


@contextlib.contextmanager
def receiver(folder: Path, admission: AdmissionLimits = GENEROUS, **settings: object) -> Iterator[Running]:
    defaults = ReceiverSettings(
        folder / "out", bind="127.0.0.1", port=0, capture=False, host_counters=False, admission=admission
    )
    log = Memo()
    server = Server(dataclasses.replace(defaults, **settings), KEY, log, "1.0")  # type: ignore[arg-type]
    thread = threading.Thread(target=server.serve, name="server")
    thread.start()
    try:
        yield Running(server, folder / "out", log)
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


class NoWatch:
    """A `Watch` that looks away."""

    def connected(self, stream: int, direction: str, sock: socket.socket) -> None:
        pass

    def closing(self, stream: int, direction: str, sock: socket.socket) -> None:
        pass

    def moved(self, moved_bytes: int) -> None:
        pass


def transfer(control: Control, request: TransferRequest) -> tuple[Outcome, FarEnd]:
    prepared = control.prepare(request)
    outcome = run_transfer(control, request, prepared, NoWatch(), stall_s=10)
    return outcome, control.finish(request.number, outcome.sent)


def stranger(port: int, bind_address: str = "127.0.0.1") -> socket.socket:
    """A bare connection to the receiver."""
    return socket.create_connection(("127.0.0.1", port), 5, (bind_address, 0))


def is_over(sock: socket.socket, within_s: float = 15) -> bool:
    """The other side ends the connection in time, whatever it says before."""
    deadline_s = time.monotonic() + within_s
    try:
        while time.monotonic() < deadline_s:
            sock.settimeout(max(0.01, deadline_s - time.monotonic()))
            if not sock.recv(65536):
                return True
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


@dataclasses.dataclass
class Keyed:
    """A client that has the key and does what it likes."""

    socket: socket.socket
    channel: Channel
    session: bytes
    said: list[bytes]
    """HELLO, AUTH, ACCEPT."""

    def ask(self, **message: object) -> dict[str, object]:
        self.channel.send(dict(message))
        return self.channel.receive(10)

    def data_auth(self, hello: bytes, number: int, stream: int, direction: str) -> bytes:
        place = Stream(session_name(self.session), number, stream, direction)
        return handshake.new_auth(data_key(self.session), hello, handshake.DATA, pack_subject(place))


@contextlib.contextmanager
def keyed(port: int, bind_address: str = "127.0.0.1") -> Iterator[Keyed]:
    with stranger(port, bind_address) as sock:
        hello = receive_exactly(sock, handshake.HELLO_BYTES, None, "it")
        auth = handshake.new_auth(KEY, hello, handshake.CONTROL)
        sock.sendall(auth)
        accept = receive_exactly(sock, handshake.ACCEPT_BYTES, time.monotonic() + 5, "it")
        wrapped, session = secure_sender(sock, KEY, (hello, auth, accept), 5, "it")
        with wrapped:
            yield Keyed(wrapped, Channel(wrapped, "it"), session, [hello, auth, accept])


def answering(sock: socket.socket, certificate: Certificate, key: bytes = KEY) -> Channel:
    """The receiver's side of a control connection, for tests that answer what they like."""
    hello = handshake.new_hello()
    sock.sendall(hello)
    auth = receive_exactly(sock, handshake.AUTH_BYTES, time.monotonic() + 5, "it")
    sock.sendall(handshake.new_accept(key, hello, auth, certificate.digest))
    wrapped = server_wrap(sock, certificate.control)
    try:
        secure_receiver(wrapped, handshake.session_key(key, hello, auth, certificate.digest), 5, "it")
    except WireError:
        wrapped.close()
        raise
    return Channel(wrapped, "it")


class Census(NamedTuple):
    """Threads, descriptors, and files that are only made for a moment."""

    threads: int
    descriptors: int
    passing: frozenset[str]

    def is_within(self, before: Census) -> bool:
        """No more of anything: one thread less makes up for no descriptor more."""
        return (
            self.threads <= before.threads and self.descriptors <= before.descriptors and self.passing <= before.passing
        )


def census(folder: Path) -> Census:
    gc.collect()
    passing = (path.name for path in folder.rglob("*") if path.name.startswith(".") or path.suffix == ".aside")
    return Census(threading.active_count(), len(list(Path("/proc/self/fd").iterdir())), frozenset(passing))


@contextlib.contextmanager
def leaves_nothing(folder: Path) -> Iterator[None]:
    """What runs inside leaves no thread, descriptor or passing file behind, once its ends have been noticed."""
    before = census(folder)
    yield
    assert eventually(lambda: census(folder).is_within(before)), (before, census(folder), threading.enumerate())


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
