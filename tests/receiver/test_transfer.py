"""A transfer at the receiver, its connections given by hand; with real senders it is in tests/sender/wire."""

import hashlib
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.receiver.harness import leaves_nothing
from vmtrace.receiver.transfer import Ended, Transfer
from vmtrace.sender.wire.data_connection import Stream, send_done, send_go
from vmtrace.sender.wire.records import Sent, TransferRequest
from vmtrace.sender.wire.socket_options import SocketOptions


class NoWitness:
    def watch(self, stream: int, direction: str, sock: socket.socket) -> None:
        pass

    def unwatch(self, stream: int, direction: str) -> None:
        pass


def connection() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    return ours, theirs


def upload(stream: int = 0) -> Stream:
    return Stream(b"s" * 16, 1, stream, "upload")


def test_streams_that_do_not_come_are_reported(tmp_path: Path) -> None:
    with leaves_nothing(tmp_path):
        transfer = Transfer(TransferRequest(1, 1, "data", 10, streams=2), None, NoWitness(), 5)
        assert transfer.awaited == 2
        ended = transfer.wait(0.05)
    assert (ended.received, ended.error) == (None, "2 of its streams did not end")


def test_a_transfer_is_over_when_its_last_stream_is() -> None:
    for streams, error in ((1, None), (2, "1 of its streams did not end")):
        transfer = Transfer(TransferRequest(1, 1, "data", 10 * streams, streams=streams), None, NoWitness(), 30)
        ours, theirs = connection()
        with ours:
            assert transfer.take(upload(), theirs, b"accept")
            ours.sendall(b"x" * 10)
            assert ours.recv(22, socket.MSG_WAITALL).startswith(b"acceptDONE")
        ended = transfer.wait(30 if error is None else 0.2)
        assert (ended.error, ended.received is None, ended.sent) == (error, error is not None, None)


def test_of_a_download_the_receiver_says_what_it_sent() -> None:
    transfer = Transfer(TransferRequest(1, 1, "data", 10, "download"), None, NoWitness(), 30)
    ours, theirs = connection()
    with ours:
        assert transfer.take(Stream(b"s" * 16, 1, 0, "download"), theirs, b"")
        send_go(ours)
        content = ours.recv(10, socket.MSG_WAITALL)
        send_done(ours, 10)
    assert transfer.wait(30) == Ended(None, Sent((10,), (hashlib.sha256(content).hexdigest(),)), None)


def test_of_a_download_that_lacks_a_stream_nothing_is_said() -> None:
    transfer = Transfer(TransferRequest(1, 1, "data", 20, "download", 2), None, NoWitness(), 30)
    ours, theirs = connection()
    with ours:
        assert transfer.take(Stream(b"s" * 16, 1, 1, "download"), theirs, b"")
        send_go(ours)
        assert len(ours.recv(10, socket.MSG_WAITALL)) == 10
        send_done(ours, 10)
        assert eventually(lambda: transfer._sent == {1})
    assert transfer.wait(0.2).sent is None


def test_a_stream_is_taken_once_and_none_after_the_end() -> None:
    transfer = Transfer(TransferRequest(1, 1, "data", 10), None, NoWitness(), 5)
    ours, theirs = connection()
    with ours:
        assert transfer.take(upload(), theirs, b"")
        assert not transfer.take(upload(), theirs, b"")
        assert not transfer.take(upload(1), theirs, b"")
        assert not transfer.take(Stream(b"s" * 16, 1, 0, "download"), theirs, b"")
        transfer.stop()
        assert theirs.fileno() == -1
    other = Transfer(TransferRequest(1, 1, "data", 10), None, NoWitness(), 5)
    other.stop()
    assert not other.take(upload(), theirs, b"")


def test_an_option_that_the_system_refuses_fails_the_transfer_by_name() -> None:
    options = SocketOptions(congestion_control="nosuch")
    transfer = Transfer(TransferRequest(1, 1, "data", 10, options=options), None, NoWitness(), 5)
    ours, theirs = connection()
    with ours:
        transfer.take(upload(), theirs, b"")
        error = transfer.wait(5).error
    assert error == "connection lost (the system refuses congestion control nosuch: No such file or directory)"


def test_a_defect_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    class Broken(NoWitness):
        def watch(self, stream: int, direction: str, sock: socket.socket) -> None:  # noqa: ARG002
            raise ZeroDivisionError

    with leaves_nothing(tmp_path):
        transfer = Transfer(TransferRequest(1, 1, "data", 10), None, Broken(), 5)
        ours, theirs = connection()
        with ours:
            transfer.take(upload(), theirs, b"")
            assert transfer.wait(5).error == "the receiver could not do it (ZeroDivisionError)"


def test_an_end_from_another_thread_is_its_reason() -> None:
    transfer = Transfer(TransferRequest(1, 1, "data", 10), None, NoWitness(), 30)
    ours, theirs = connection()
    with ours:
        transfer.take(upload(), theirs, b"")
        threading.Timer(0.05, transfer.interrupt, ("enough",)).start()
        began_s = time.monotonic()
        assert transfer.wait(20).error == "enough"
        assert time.monotonic() - began_s < 10


def test_connections_that_come_while_the_transfer_ends_are_taken_or_refused_but_never_lost(tmp_path: Path) -> None:
    with leaves_nothing(tmp_path):
        for _ in range(60):
            transfer = Transfer(TransferRequest(1, 1, "data", 100, streams=4), None, NoWitness(), 5)
            pairs = [connection() for _ in range(4)]

            def give(transfer: Transfer = transfer, pairs: list[tuple[socket.socket, socket.socket]] = pairs) -> None:
                for number, (_, theirs) in enumerate(pairs):
                    if not transfer.take(upload(number), theirs, b""):
                        theirs.close()

            giver = threading.Thread(target=give)
            giver.start()
            transfer.stop()
            giver.join()
            assert all(theirs.fileno() == -1 for _, theirs in pairs)
            for ours, _ in pairs:
                ours.close()


def test_a_system_without_threads_refuses_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: object) -> None:
        raise RuntimeError("can't start new thread")

    transfer = Transfer(TransferRequest(1, 1, "data", 10), None, NoWitness(), 5)
    ours, theirs = connection()
    with ours, theirs, monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert not transfer.take(upload(), theirs, b"")
    assert transfer.awaited == 1
    transfer.stop()
