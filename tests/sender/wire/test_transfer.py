"""Whole transfers, and the same through a proxy that changes what passes: nothing wrong is called right."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.receiver.harness import NoWatch, Running, leaves_nothing, receiver, transfer
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint, resolve
from vmtrace.sender.wire.errors import KeyRefused, WireError
from vmtrace.sender.wire.handshake import ACCEPT_BYTES, AUTH_BYTES, HELLO_BYTES
from vmtrace.sender.wire.records import Arrival, Sent, TransferRequest
from vmtrace.sender.wire.socket_options import SocketOptions
from vmtrace.sender.wire.stream import Received
from vmtrace.sender.wire.transfer import arrival_of, digest_ok, run_transfer

BLOCK = 4096


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with receiver(tmp_path_factory.mktemp("receiver"), sessions=20) as running:
        yield running


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("direction", ["upload", "download", "both"])
def test_all_sizes_and_streams_arrive_and_are_verified(there: Running, direction: str, tls: bool) -> None:
    with there.sender() as control:
        number = 0
        for size in (1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5):
            for streams in (1, 2, 5):
                if size < streams:
                    continue
                number += 1
                request = TransferRequest(number, 1, "data", size, direction, streams, tls, BLOCK, None)
                outcome, far = transfer(control, request)
                assert digest_ok(outcome, far), request
                assert far.error is None
                for arrival in (far.arrival, outcome.arrival(far)):
                    assert arrival is None or arrival.bytes == size
                assert (far.arrival is None, outcome.arrival(far) is None) == (
                    direction == "download",
                    direction == "upload",
                )
                assert len(outcome.connections) == streams * (2 if direction == "both" else 1)
                assert (outcome.tls is not None) == tls
                assert 0 < outcome.duration_s < 5
                assert outcome.end_ns - outcome.start_ns <= round(outcome.duration_s * 1e9)


def test_options_are_set_at_both_ends(there: Running) -> None:
    options = SocketOptions(
        congestion_control="reno", send_buffer_bytes=100_000, receive_buffer_bytes=100_000, dscp=8, mss_bytes=1000
    )
    with there.sender() as control:
        request = TransferRequest(1, 1, "data", 500_000, "both", options=options)
        outcome, far = transfer(control, request)
    assert digest_ok(outcome, far)
    assert far.tcp is not None
    assert far.tcp.congestion_control == "reno"


Change = Callable[[bytearray, int], bytearray]
"""What becomes of bytes of the payload whose first has this place."""


class Proxy:
    """Passes one data connection on, and changes its payload in one direction."""

    def __init__(self, port: int, direction: str, change: Change) -> None:
        self._port, self._direction, self._change = port, direction, change
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        try:
            near, _ = self._listener.accept()
        except OSError:
            return
        far = socket.create_connection(("127.0.0.1", self._port))
        with near, far:
            up = threading.Thread(target=self._pass, args=(near, far, AUTH_BYTES, self._direction == "upload"))
            up.start()
            self._pass(far, near, HELLO_BYTES + ACCEPT_BYTES, self._direction == "download")
            up.join()

    def _pass(self, source: socket.socket, sink: socket.socket, head_bytes: int, changes: bool) -> None:
        passed = -head_bytes
        try:
            while True:
                wanted = -passed if passed < 0 else 65536
                piece = bytearray(source.recv(wanted))
                if not piece:
                    break
                place, passed = passed, passed + len(piece)
                sink.sendall(self._change(piece, place) if changes and place >= 0 else piece)
        except OSError:
            pass
        for sock in (source, sink):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(15)
        self._listener.close()


def flip(at: int) -> Change:
    def change(piece: bytearray, place: int) -> bytearray:
        if place <= at < place + len(piece):
            piece[at - place] ^= 0x10
        return piece

    return change


def drop(at: int) -> Change:
    def change(piece: bytearray, place: int) -> bytearray:
        if place <= at < place + len(piece):
            del piece[at - place]
        return piece

    return change


def double(at: int) -> Change:
    def change(piece: bytearray, place: int) -> bytearray:
        if place <= at < place + len(piece):
            piece.insert(at - place, piece[at - place] ^ 0xFF)
        return piece

    return change


@contextmanager
def through(there: Running, direction: str, change: Change) -> Iterator[Control]:
    proxy = Proxy(there.port, direction, change)
    try:
        with there.sender() as control:
            control.endpoint = Endpoint("127.0.0.1", proxy.port)
            control.address = resolve(control.endpoint)
            yield control
    finally:
        proxy.close()


def came_through(control: Control, request: TransferRequest, stall_s: float = 0.4) -> bool:
    """What a campaign would make of it."""
    prepared = control.prepare(request)
    try:
        outcome = run_transfer(control, request, prepared, NoWatch(), stall_s)
    except WireError:
        return False
    return digest_ok(outcome, control.finish(request.number, outcome.sent))


SIZE = 3 * BLOCK + 5
PLACES = {"first block": 17, "repeat": BLOCK + 17, "last byte": SIZE - 1}


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_one_changed_byte_anywhere_is_noticed(there: Running, direction: str, place: int, tls: bool) -> None:
    # With TLS the place is in a record, or in the handshake: neither may pass.
    with through(there, direction, flip(place)) as control:
        assert not came_through(control, TransferRequest(1, 1, "data", SIZE, direction, 1, tls, BLOCK, None))


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize(
    "change",
    [drop(100), drop(SIZE - 1), double(100), double(SIZE - 1)],
    ids=["drop", "drop last", "double", "double last"],
)
def test_bytes_lost_or_added_are_noticed(there: Running, direction: str, change: Change) -> None:
    with through(there, direction, change) as control:
        assert not came_through(control, TransferRequest(1, 1, "data", SIZE, direction, 1, False, BLOCK, None))


def test_the_proxy_itself_changes_nothing(there: Running) -> None:
    for direction in ("upload", "download"):
        with through(there, direction, lambda piece, _: piece) as control:
            assert came_through(
                control, TransferRequest(1, 1, "data", SIZE, direction, 1, False, BLOCK, None), stall_s=20
            )


def test_a_transfer_that_is_held_up_for_a_while_still_comes_through(there: Running) -> None:
    def held_up(piece: bytearray, place: int) -> bytearray:
        if place <= BLOCK < place + len(piece):
            time.sleep(0.3)
        return piece

    with through(there, "upload", held_up) as control:
        assert came_through(control, TransferRequest(1, 1, "data", SIZE, "upload", 1, False, BLOCK, None), stall_s=20)


def test_another_certificate_is_someone_in_between(there: Running) -> None:
    with there.sender() as control:
        request = TransferRequest(1, 1, "data", 100, tls=True)
        prepared = replace(control.prepare(request), certificate_sha256="0" * 64)
        with pytest.raises(KeyRefused, match="may be intercepted"):
            run_transfer(control, request, prepared, NoWatch(), stall_s=5)
        control.abort(1)


def test_a_failure_or_an_interruption_leaves_nothing_behind(there: Running, tmp_path: Path) -> None:
    class Interrupted(NoWatch):
        def moved(self, moved_bytes: int) -> None:  # noqa: ARG002
            raise KeyboardInterrupt

    class Broken(NoWatch):
        def closing(self, stream: int, direction: str, sock: socket.socket) -> None:  # noqa: ARG002
            raise OSError("broken")

    with there.sender() as control, leaves_nothing(tmp_path):
        request = TransferRequest(1, 1, "data", 1 << 30, "both", 3, True)
        with pytest.raises(KeyboardInterrupt):
            run_transfer(control, request, control.prepare(request), Interrupted())
        control.abort(1)
        request = TransferRequest(2, 1, "data", 100, "both", 3)
        with pytest.raises(OSError, match="broken"):
            run_transfer(control, request, control.prepare(request), Broken())
        control.abort(2)


def test_a_system_without_threads_is_one_line(there: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with there.sender() as control:
        request = TransferRequest(1, 1, "data", 100, "upload", 3)
        prepared = control.prepare(request)

        def refuse(_self: object) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            with pytest.raises(OSError, match="the system allows no threads for 3 streams"):
                run_transfer(control, request, prepared, NoWatch())
        control.abort(1)


def stream(size: int = 10, sha256: str = "a", repeats: bool = True) -> Received:
    return Received(size, 1, 2, sha256, repeats)


@pytest.mark.parametrize(
    ("received", "sent", "verified"),
    [
        (stream(), Sent((10,), ("a",)), True),
        (stream(), None, False),
        (stream(sha256="b"), Sent((10,), ("a",)), False),
        (stream(repeats=False), Sent((10,), ("a",)), False),
        (stream(size=9), Sent((10,), ("a",)), False),
        (stream(), Sent((10, 10), ("a", "a")), False),
        (stream(), Sent((), ()), False),
    ],
)
def test_an_arrival_is_verified_only_by_all_that_was_sent(
    received: Received, sent: Sent | None, verified: bool
) -> None:
    assert arrival_of((received,), sent) == Arrival(received.bytes, 1, 2, verified)
