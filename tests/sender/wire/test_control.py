"""The control connection against a real receiver, and against one that lies."""

import contextlib
import hashlib
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.receiver.harness import KEY, answering, receiver, transfer
from vmtrace.receiver.certificate import own_certificate
from vmtrace.sender.wire.channel import Channel, ChannelError, Message
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import KeyRefused, ReceiverBusy, ReceiverGone, ReceiverRefused, WireError
from vmtrace.sender.wire.records import RemoteFile, RunRequest, TransferRequest


def test_a_run_begins_and_goes_on(tmp_path: Path) -> None:
    with receiver(tmp_path) as there:
        with there.sender(run=False) as control:
            run = control.open_run(RunRequest())
            assert run.limits.streams == 64
        with there.sender(run=False) as control:
            assert control.open_run(RunRequest(run_id=run.run_id)).run_id == run.run_id
        with there.sender(run=False) as control, pytest.raises(ReceiverRefused, match="no such run"):
            control.open_run(RunRequest(run_id="0" * 32))


def test_the_clock_offset_is_within_its_bound(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, there.sender() as control:
        clock = control.clock_offset()
        assert abs(clock.offset_s) <= clock.error_s + 1e-4
        control.keep_alive()
        assert control.peer_address == ("127.0.0.1", there.port)
        assert control.local_address[0] == "127.0.0.1"


def test_files_come_over_whole(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, there.sender() as control:
        transfer(control, TransferRequest(1, 12, "probe", 1000))
        files = control.files()
        assert {(file.kind, file.sequence, file.part) for file in files} == {
            ("tcpinfo", 12, "probe"),
            ("transfers", 0, ""),
        }
        for file in files:
            pieces: list[bytes] = []
            control.fetch(file, pieces.append)
            assert hashlib.sha256(b"".join(pieces)).hexdigest() == file.sha256
            assert len(b"".join(pieces)) == file.bytes


def test_a_file_that_changed_is_refused_and_the_connection_goes_on(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, there.sender() as control:
        transfer(control, TransferRequest(1, 1, "data", 1000))
        (log,) = (file for file in control.files() if file.kind == "transfers")
        (path,) = there.folder.glob("*/receiver.jsonl")
        path.write_text("shorter")
        with pytest.raises(ReceiverRefused, match="a file changed while it was fetched"):
            control.fetch(log, lambda _: None)
        control.keep_alive()


def test_the_wrong_key_is_one_clear_line(tmp_path: Path) -> None:
    with (
        receiver(tmp_path) as there,
        pytest.raises(KeyRefused, match="refused the key: give both ends the same key file"),
    ):
        Control.connect(there.endpoint(), b"x" * 32, 5)


@contextmanager
def liar(*answers: Message | Callable[[Channel], object], key: bytes = KEY) -> Iterator[Control]:
    """A control connection to a receiver that has the key and says these things."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            sock, _ = listener.accept()
            with tempfile.TemporaryDirectory() as folder, sock:
                try:
                    channel = answering(sock, own_certificate(Path(folder)), key)
                except WireError:
                    return
                with channel.socket:
                    for answer in answers:
                        try:
                            channel.receive(5)
                            if callable(answer):
                                answer(channel)
                            else:
                                channel.send(answer)
                        except ReceiverGone:
                            return
                    with contextlib.suppress(ReceiverGone):
                        channel.receive(5)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            control = Control.connect(Endpoint("127.0.0.1", listener.getsockname()[1]), KEY, 5)
            try:
                yield control
            finally:
                control.close()
        finally:
            thread.join(10)


FILE = {"number": 0, "kind": "facts", "sequence": 0, "part": "", "bytes": 3, "sha256": "0" * 64}


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ({"ok": True, "run_id": "../../etc"}, lambda control: control.open_run(RunRequest())),
        ({"ok": True}, lambda control: control.open_run(RunRequest())),
        ({"ok": True}, lambda control: control.clock_offset()),
        ({"ok": True, "time_ns": "x"}, lambda control: control.clock_offset()),
        (
            {"ok": True, "number": 2, "capture_error": None, "certificate_sha256": None},
            lambda control: control.prepare(TransferRequest(1, 1, "data", 1)),
        ),
        ({"ok": True, "far_end": 7}, lambda control: control.finish(1, None)),
        *(
            (
                {"ok": True, "number": 1, "capture_error": None, "certificate_sha256": shown},
                lambda control: control.prepare(TransferRequest(1, 1, "data", 1, tls=True)),
            )
            for shown in (None, "", "x" * 64)
        ),
        ({"ok": True, "count": 2**62}, lambda control: control.files()),
        ({"ok": True, "count": -5}, lambda control: control.files()),
    ],
    ids=[
        "run",
        "no run",
        "no time",
        "time",
        "another transfer",
        "far end",
        "no certificate",
        "empty certificate",
        "odd certificate",
        "files",
        "fewer files than none",
    ],
)
def test_what_a_lying_receiver_says_is_a_channel_error(answer: Message, call: Callable[[Control], object]) -> None:
    with liar(answer) as control, pytest.raises(ChannelError):
        call(control)


def test_files_that_never_end_or_cannot_be_are_a_channel_error() -> None:
    count: Message = {"ok": True, "count": 1}
    for described in ([], [{**FILE, "sha256": "../x"}], [{**FILE, "bytes": -1}]):
        with liar(count, {"ok": True, "files": described}) as control, pytest.raises(ChannelError):
            control.files()


def test_a_listing_and_a_file_that_drip_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.sender.wire.control._LISTING_S", 0.2)
    monkeypatch.setattr("vmtrace.sender.wire.control._ANSWER_S", 0.2)

    def late(answer: Message) -> Callable[[Channel], None]:
        def say(channel: Channel) -> None:
            time.sleep(0.15)
            channel.send(answer)

        return say

    one: Message = {"ok": True, "files": [FILE]}
    with liar({"ok": True, "count": 9}, *[late(one)] * 9) as control, pytest.raises(ReceiverGone):
        control.files()

    def drip(channel: Channel) -> None:
        channel.send({"ok": True})
        for _ in range(9):
            channel.send_bytes(b"x")
            time.sleep(0.1)

    with liar(drip) as control, pytest.raises(ReceiverGone, match="in time"):
        control.fetch(RemoteFile(0, "facts", 0, "", 9, "0" * 64), lambda _: None)


def test_a_file_longer_than_announced_is_a_channel_error() -> None:
    def longer(channel: Channel) -> None:
        channel.send({"ok": True})
        channel.send_bytes(b"four")

    with liar(longer) as control, pytest.raises(ChannelError, match="sends more of a file than it announced"):
        control.fetch(RemoteFile(0, "facts", 0, "", 3, "0" * 64), lambda _: None)


@pytest.mark.parametrize("content", [b"", b"x", b"xyz"])
def test_a_file_may_be_empty_or_of_one_byte(content: bytes) -> None:
    def whole(channel: Channel) -> None:
        channel.send({"ok": True})
        for byte in content:
            channel.send_bytes(bytes([byte]))

    described: Message = {**FILE, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    pieces: list[bytes] = []
    with liar({"ok": True, "count": 1}, {"ok": True, "files": [described]}, whole) as control:
        [file] = control.files()
        control.fetch(file, pieces.append)
    assert pieces == [bytes([byte]) for byte in content]


def test_pieces_of_nothing_do_not_hold_a_sender_up() -> None:
    def nothing(channel: Channel) -> None:
        channel.send({"ok": True})
        channel.send_bytes(b"")

    with liar(nothing) as control, pytest.raises(ChannelError, match="sends more of a file than it announced"):
        control.fetch(RemoteFile(0, "facts", 0, "", 3, "0" * 64), lambda _: None)


def test_a_refusal_is_shown_only_as_printable_text() -> None:
    with liar({"ok": False, "error": "a\x1b[2Jb"}, {"ok": False, "error": "no", "busy": True}) as control:
        with pytest.raises(ReceiverRefused, match="no reason given"):
            control.keep_alive()
        with pytest.raises(ReceiverBusy, match="no"):
            control.keep_alive()


def test_a_receiver_without_the_key_is_not_believed() -> None:
    with pytest.raises(KeyRefused, match="does not have this key"), liar(key=b"y" * 32):
        pass


def test_a_port_that_closes_at_once_is_explained() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def close_at_once() -> None:
            listener.accept()[0].close()

        thread = threading.Thread(target=close_at_once)
        thread.start()
        with pytest.raises(ReceiverBusy, match="closed the connection without a reply: after wrong keys"):
            Control.connect(Endpoint("127.0.0.1", listener.getsockname()[1]), KEY, 5)
        thread.join()


def test_a_silent_port_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # noqa: SIM117
        with pytest.raises(ReceiverGone, match="no reply from"):
            Control.connect(Endpoint("127.0.0.1", listener.getsockname()[1]), KEY, 0.2)
