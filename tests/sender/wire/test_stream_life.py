"""One stream, against a far end made by hand."""

import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from tests.receiver.harness import NoWatch
from vmtrace.sender.wire import handshake as hs
from vmtrace.sender.wire.channel import receive_exactly
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.data_connection import read_subject, send_done
from vmtrace.sender.wire.endpoint import Endpoint, resolve
from vmtrace.sender.wire.errors import ReceiverGone, ReceiverRefused
from vmtrace.sender.wire.socket_options import SocketOptions
from vmtrace.sender.wire.stream import new_block
from vmtrace.sender.wire.stream_life import Job, StreamLife

KEY = b"d" * 32


def lived(
    far_end: Callable[[socket.socket], object], direction: str = "upload", watch: object = None
) -> tuple[StreamLife, list[BaseException]]:
    failures: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1])
        control = SimpleNamespace(endpoint=endpoint, address=resolve(endpoint), data_key=KEY, session_name=b"n" * 16)
        job = Job(7, 3, direction, 10, new_block(10), SocketOptions(), 0.5)
        life = StreamLife(cast(Control, control), job, None, threading.Barrier(1), watch or NoWatch())  # type: ignore[arg-type]
        thread = threading.Thread(target=life.run, args=(failures,))
        thread.start()
        sock, _ = listener.accept()
        with sock:
            far_end(sock)
            thread.join(5)
            assert not thread.is_alive()
    life.close()
    return life, failures


def greet(sock: socket.socket) -> tuple[bytes, bytes]:
    hello = hs.new_hello()
    sock.sendall(hello)
    return hello, receive_exactly(sock, hs.AUTH_BYTES, time.monotonic() + 5, "it")


def test_the_whole_life_of_an_upload() -> None:
    def far_end(sock: socket.socket) -> None:
        hello, auth = greet(sock)
        introduction = hs.read_auth(auth)
        assert introduction.proves(KEY, hello)
        place = read_subject(introduction.subject)
        assert (place.session, place.transfer, place.stream, place.direction) == (b"n" * 16, 7, 3, "upload")
        receive_exactly(sock, 10, time.monotonic() + 5, "it")
        sock.sendall(hs.new_accept(KEY, hello, auth))
        send_done(sock, 10)

    life, failures = lived(far_end)
    assert failures == []
    assert life.ended_s > 0
    assert life.progress.moved_bytes == 10
    assert life.name is not None
    assert life.name.direction == "upload"


@pytest.mark.parametrize(
    ("far_end", "kind", "line"),
    [
        (lambda sock: sock.close(), ReceiverGone, "closed the connection|connection lost"),
        (
            lambda sock: (greet(sock), sock.sendall(hs.new_refusal(hs.REFUSED_SUBJECT))),
            ReceiverRefused,
            "expects no such connection",
        ),
        (lambda sock: sock.sendall(b"x" * 48), Exception, "is not a vmtrace receiver"),
        (lambda sock: None, ReceiverGone, "no reply from"),  # noqa: ARG005
    ],
    ids=["closed", "refused", "garbage", "silent"],
)
def test_trouble_is_handed_over_as_one_line(
    far_end: Callable[[socket.socket], object], kind: type[Exception], line: str
) -> None:
    _life, failures = lived(far_end)
    with pytest.raises(kind, match=line):
        raise failures[0]


def test_a_receiver_that_proves_nothing_gets_no_further() -> None:
    def far_end(sock: socket.socket) -> None:
        hello, auth = greet(sock)
        sock.sendall(hs.new_accept(b"x" * 32, hello, auth))

    life, failures = lived(far_end, "download")
    assert life.name is not None
    assert str(failures[0]).startswith(life.name.peer)
    assert "does not have this key" in str(failures[0])


def test_a_defect_in_a_watch_ends_the_stream_and_is_raised_by_the_one_who_waits() -> None:
    class Broken(NoWatch):
        def connected(self, stream: int, direction: str, sock: socket.socket) -> None:  # noqa: ARG002
            raise ZeroDivisionError

    _, failures = lived(lambda sock: None, watch=Broken())  # noqa: ARG005
    assert isinstance(failures[0], ZeroDivisionError)


def test_trouble_of_the_system_is_named_by_the_connection_that_has_it() -> None:
    class Broken(NoWatch):
        def connected(self, stream: int, direction: str, sock: socket.socket) -> None:  # noqa: ARG002
            raise OSError(5, "Input/output error")

    life, failures = lived(lambda sock: None, watch=Broken())  # noqa: ARG005
    assert life.name is not None
    assert isinstance(failures[0], ReceiverGone)
    assert str(failures[0]) == f"{life.name.peer}: connection lost (Input/output error)"


def test_a_connection_is_closed_in_any_case_and_its_end_told_if_its_beginning_was() -> None:
    class Told(NoWatch):
        def __init__(self, error: Exception | None) -> None:
            self.error, self.ends = error, list[tuple[int, str]]()

        def connected(self, stream: int, direction: str, sock: socket.socket) -> None:  # noqa: ARG002
            if self.error is not None:
                raise self.error

        def closing(self, stream: int, direction: str, sock: socket.socket) -> None:
            assert sock.fileno() >= 0
            self.ends.append((stream, direction))

    for error, ends in ((None, [(3, "upload")]), (ZeroDivisionError(), [])):
        watch = Told(error)
        life, _ = lived(lambda sock: sock.close(), watch=watch)
        assert watch.ends == ends
        assert life._socket is not None
        assert life._socket.fileno() == -1


def test_a_stream_that_never_began_can_be_stopped_and_closed() -> None:
    job = Job(1, 0, "upload", 10, new_block(10), SocketOptions(), 30)
    life = StreamLife(cast(Control, None), job, None, threading.Barrier(1), NoWatch())
    life.stop()
    life.close()
    with socket.socket() as sock, pytest.raises(ReceiverGone, match="given up"):
        life._keep(sock)


def test_a_stream_that_has_ended_is_left_to_close_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def far_end(sock: socket.socket) -> None:
        hello, auth = greet(sock)
        sock.sendall(hs.new_accept(KEY, hello, auth) + b"x" * 10)

    monkeypatch.setattr(StreamLife, "close", lambda _: None)
    life, failures = lived(far_end, "download")
    assert (failures, life.received is not None) == ([], True)
    ended = list[socket.socket]()
    monkeypatch.setattr("vmtrace.sender.wire.stream_life.shut_down", ended.append)
    life.stop()
    assert ended == []
    life.ended_s = 0.0
    life.stop()
    assert ended == [life._socket]
    ended[0].close()


def test_a_stream_can_be_stopped_while_it_waits() -> None:
    started = threading.Event()
    failures: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1])
        control = SimpleNamespace(endpoint=endpoint, address=resolve(endpoint), data_key=KEY, session_name=b"n" * 16)

        class Told(NoWatch):
            def connected(self, stream: int, direction: str, sock: socket.socket) -> None:  # noqa: ARG002
                started.set()

        job = Job(1, 0, "upload", 10, new_block(10), SocketOptions(), 30)
        life = StreamLife(cast(Control, control), job, None, threading.Barrier(1), Told())
        thread = threading.Thread(target=life.run, args=(failures,))
        thread.start()
        started.wait(30)
        life.stop()
        thread.join(20)
        assert not thread.is_alive()
        life.close()
