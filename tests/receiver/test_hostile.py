"""What anybody may send to a public address: nothing is lost or leaked, and an honest sender is served meanwhile."""

from __future__ import annotations

import os
import resource
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.receiver.between import Between
from tests.receiver.harness import (
    GENEROUS,
    KEY,
    Keyed,
    is_over,
    keyed,
    leaves_nothing,
    receiver,
    resident_bytes,
    stranger,
    transfer,
)  # fmt: skip
from vmtrace.receiver.certificate import own_certificate
from vmtrace.receiver.settings import AdmissionLimits
from vmtrace.sender.wire import handshake as hs
from vmtrace.sender.wire.channel import LONGEST_BYTES, receive_exactly
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import KeyRefused, ReceiverBusy, ReceiverGone, VersionMismatch, WireError
from vmtrace.sender.wire.fields import to_json
from vmtrace.sender.wire.records import Limits, RunRequest, TransferRequest
from vmtrace.sender.wire.tls import client_wrap, handshake, server_wrap

pytestmark = pytest.mark.slow

QUICK = replace(GENEROUS, introduction_s=0.4)
HOSTILE = "127.0.0.66"


def refused_with(control: Keyed, **message: object) -> str:
    answer = control.ask(**message)
    assert answer["ok"] is False
    error = str(answer["error"])
    assert error.isprintable()
    assert not [path for path in ("/tmp", "/root", "/home", "/usr", ".py", "Traceback") if path in error]
    return error


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n" * 10,
        bytes(112),
        b"\xff" * 5000,
        b"VMTRACE\0" + bytes(104),
        b"\x16\x03\x01" + bytes(200),
    ],
    ids=["http", "zeros", "ones", "magic", "tls"],
)
def test_garbage_is_dropped_at_once(garbage: bytes, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with stranger(there.port) as sock:
            sock.sendall(garbage)
            assert is_over(sock, 2)
        there.serves()


def test_random_garbage_is_dropped_and_memory_stays_flat(tmp_path: Path) -> None:
    with receiver(tmp_path, QUICK) as there, leaves_nothing(tmp_path):
        there.serves()
        before = 0
        for turn in range(400):
            with stranger(there.port, HOSTILE) as sock:
                sock.sendall(secrets.token_bytes(turn % 300))
            if turn == 100:
                before = resident_bytes()
        assert resident_bytes() - before < 4 << 20
        there.serves()


def test_silence_and_slow_drips_are_dropped_within_seconds(tmp_path: Path) -> None:
    with receiver(tmp_path, QUICK) as there, leaves_nothing(tmp_path):  # noqa: SIM117
        with stranger(there.port) as silent, stranger(there.port) as slow:
            began_s = time.monotonic()
            gone = threading.Event()

            def drip() -> None:
                try:
                    while not gone.wait(0.05):
                        slow.send(b"V")
                except OSError:
                    return

            dripping = threading.Thread(target=drip)
            dripping.start()
            there.serves()
            assert is_over(silent, 10)
            assert is_over(slow, 10)
            assert time.monotonic() - began_s < 10
            gone.set()
            dripping.join()


def test_a_crowd_from_one_address_keeps_nobody_else_out(tmp_path: Path) -> None:
    with receiver(tmp_path, AdmissionLimits(introduction_s=1)) as there, leaves_nothing(tmp_path):
        there.serves()
        crowd = [stranger(there.port, HOSTILE) for _ in range(400)]
        there.serves()
        assert len(there.server._places) <= 96
        for sock in crowd:
            sock.close()


def test_a_crowd_of_many_addresses_keeps_out_nobody_who_answers(tmp_path: Path) -> None:
    with receiver(tmp_path, AdmissionLimits(introduction_s=30, unproven=256)) as there, leaves_nothing(tmp_path):
        crowd = [stranger(there.port, f"127.0.1.{turn % 200 + 1}") for turn in range(600)]
        there.serves()
        assert len(there.server._places) <= 256
        for sock in crowd:
            sock.close()


def test_what_is_announced_too_large_ends_the_session(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            client.socket.sendall(struct.pack(">I", LONGEST_BYTES + 1) + bytes(1000))
            assert is_over(client.socket)
        there.serves()


def test_a_recorded_control_connection_cannot_be_played_again(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with Between(there.port) as between, between.sender() as control:
            control.open_run(RunRequest(capture=False))
        runs = len(list(there.folder.iterdir()))
        with stranger(there.port) as again:
            again.sendall(bytes(between.said["sender"]))
            receive_exactly(again, hs.HELLO_BYTES, None, "it")
            answer = receive_exactly(again, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")
            assert answer[4] == hs.REFUSED_KEY
            assert is_over(again)
        assert len(list(there.folder.iterdir())) == runs
        there.serves()


def test_an_observer_reads_nothing_of_control_messages_and_files(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with there.sender(run=False) as control:
            run = control.open_run(RunRequest(capture=False))
            transfer(control, TransferRequest(1, 1, "data", 100))
        whole = bytearray()
        with Between(there.port) as between, between.sender() as control:
            control.open_run(RunRequest(run_id=run.run_id, capture=False))
            for file in control.files():
                control.fetch(file, whole.extend)
        seen = bytes(between.said["sender"] + between.said["receiver"])
        assert len(whole) > 50
        for secret in (b"ask", run.run_id.encode(), b"receiver", bytes(whole[:30])):
            assert secret not in seen


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_one_changed_byte_of_a_control_connection_ends_it(side: str, tmp_path: Path) -> None:
    lengths = {"sender": hs.AUTH_BYTES, "receiver": hs.HELLO_BYTES + hs.ACCEPT_BYTES}
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with Between(there.port) as whole, whole.sender() as control:
            control.open_run(RunRequest(capture=False))
        said = len(whole.said[side])
        for place in range(lengths[side], said, max(1, said // 40)):
            with Between(there.port, change=(side, place)) as between, pytest.raises((WireError, OSError)):  # noqa: PT012
                with between.sender() as control:
                    for _ in range(5):
                        control.open_run(RunRequest(capture=False)) if _ == 0 else control.keep_alive()
                raise ReceiverGone("the change came after the last answer")
        there.serves()


def test_one_in_between_with_another_certificate_is_refused_by_both_sides(tmp_path: Path) -> None:
    other = own_certificate(tmp_path / "other")
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            heard: list[str] = []

            def relay() -> None:
                sock, _ = listener.accept()
                with sock, stranger(there.port) as onward:
                    sock.sendall(receive_exactly(onward, hs.HELLO_BYTES, None, "it"))
                    onward.sendall(receive_exactly(sock, hs.AUTH_BYTES, None, "it"))
                    sock.sendall(receive_exactly(onward, hs.ACCEPT_BYTES, None, "it"))
                    with server_wrap(sock, other.control) as left, client_wrap(onward) as right:
                        handshake(left, 5)
                        handshake(right, 5)
                        right.sendall(bytes(32))  # the sender's word would have to be relayed, and is never said
                        heard.append("over" if is_over(right) else "served")

            thread = threading.Thread(target=relay)
            thread.start()
            with pytest.raises(KeyRefused, match="someone in the middle shows another certificate"):
                Control.connect(Endpoint("127.0.0.1", listener.getsockname()[1]), KEY, 5)
            thread.join(10)
        assert heard == ["over"]
        assert eventually(lambda: "has seen another certificate" in there.log)
        there.serves()


def test_a_recorded_data_connection_cannot_be_played_again(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path), keyed(there.port) as client:
        client.ask(ask="open", capture=False)
        client.ask(**to_json(TransferRequest(1, 1, "data", 2000, streams=2)), ask="prepare")
        with stranger(there.port) as first:
            auth = client.data_auth(receive_exactly(first, hs.HELLO_BYTES, None, "it"), 1, 0, "upload")
            first.sendall(auth)
            assert receive_exactly(first, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.ACCEPTED
            with stranger(there.port) as again:
                receive_exactly(again, hs.HELLO_BYTES, None, "it")
                again.sendall(auth + bytes(1000))
                assert receive_exactly(again, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.REFUSED_SUBJECT
            with stranger(there.port) as twice:  # the right proof, but that stream is taken
                twice.sendall(client.data_auth(receive_exactly(twice, hs.HELLO_BYTES, None, "it"), 1, 0, "upload"))
                assert receive_exactly(twice, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.REFUSED_SUBJECT


def test_the_receivers_own_proof_reflected_is_none(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client, stranger(there.port) as sock:
            hello = receive_exactly(sock, hs.HELLO_BYTES, None, "it")
            _, auth, accept = client.said
            sock.sendall(hs.new_auth(KEY, hello, hs.CONTROL)[:-32] + accept[-32:])
            assert receive_exactly(sock, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.REFUSED_KEY
            assert auth[-32:] != accept[-32:]
        there.serves()


def test_wrong_keys_shut_an_address_out_for_a_while_and_nobody_else(tmp_path: Path) -> None:
    limits = replace(GENEROUS, wrong_keys=3, wrong_key_pause_s=2.0)
    with receiver(tmp_path, limits) as there, leaves_nothing(tmp_path):
        for _ in range(3):
            with pytest.raises(KeyRefused):
                Control.connect(there.endpoint(HOSTILE), b"x" * 32, 5)
        with pytest.raises(ReceiverBusy, match="without a reply"):
            Control.connect(there.endpoint(HOSTILE), KEY, 5)
        there.serves("127.0.0.1")
        time.sleep(2.0)
        there.serves(HOSTILE)
        assert "wrong key" in there.log


def test_late_streams_of_a_session_that_is_over_are_no_wrong_keys(tmp_path: Path) -> None:
    with receiver(tmp_path, replace(GENEROUS, wrong_keys=3)) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            late = client
        assert eventually(lambda: len(there.server._sessions) == 0)
        for _ in range(10):
            with stranger(there.port) as sock:
                sock.sendall(late.data_auth(receive_exactly(sock, hs.HELLO_BYTES, None, "it"), 1, 0, "upload"))
                assert receive_exactly(sock, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.REFUSED_SUBJECT
        there.serves()


def test_another_version_is_reported_so_on_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with stranger(there.port) as sock:
            hello = receive_exactly(sock, hs.HELLO_BYTES, None, "it")
            auth = bytearray(hs.new_auth(KEY, hello, hs.CONTROL))
            auth[9] = 1
            sock.sendall(auth)
            accept = receive_exactly(sock, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")
            with pytest.raises(VersionMismatch, match="has version 2 of the protocol"):
                hs.check_accept(KEY, hello, bytes(auth), accept, "it")
        with monkeypatch.context() as patched:
            patched.setattr("vmtrace.receiver.newcomer.handshake.new_hello", lambda: b"VMTRACE\0\0\3" + bytes(38))
            with pytest.raises(
                VersionMismatch, match="has version 3 of the protocol, this vmtrace has version 2: install"
            ):
                Control.connect(there.endpoint(), KEY, 5)
        there.serves()


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_a_third_party_can_neither_feed_nor_take_a_stream(direction: str, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path), keyed(there.port) as client:
        client.ask(ask="open", capture=False)
        client.ask(**to_json(TransferRequest(1, 1, "data", 100, direction)), ask="prepare")
        place = client.data_auth(bytes(hs.HELLO_BYTES), 1, 0, direction)[hs._AUTH.size - 32 : hs._AUTH.size]
        for key in (b"x" * 32, KEY):  # even the shared key is none for a data connection
            with stranger(there.port, HOSTILE) as thief:
                hello = receive_exactly(thief, hs.HELLO_BYTES, None, "it")
                thief.sendall(hs.new_auth(key, hello, hs.DATA, place) + bytes(100))
                assert receive_exactly(thief, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.REFUSED_SUBJECT
                assert is_over(thief)
        answer = client.ask(ask="abort", number=1)
        assert answer["ok"] is True


NONSENSE: list[dict[str, object]] = [
    {"part": "../../etc/passwd"}, {"part": "data\n"}, {"part": "\x1b[2J"}, {"direction": "sideways"}, {"number": 0},
    {"number": 2**32}, {"number": -1}, {"sequence": 0}, {"sequence": 10**9}, {"bytes": 0}, {"bytes": -5},
    {"bytes": 2**62}, {"streams": 0}, {"streams": 65}, {"streams": -1}, {"random_bytes": 0}, {"random_bytes": 2**40},
    {"tcp_info_interval_s": 0}, {"tcp_info_interval_s": -1.0}, {"tcp_info_interval_s": 1e9},
    {"tcp_info_interval_s": 1e300}, {"tcp_info_interval_s": 10**18}, {"options": {"congestion_control": "../../x"}},
    {"options": {"congestion_control": "vfat"}},
    {"options": {"dscp": 64}}, {"options": {"dscp": -1}}, {"options": {"send_buffer_bytes": 2**40}},
    {"options": {"receive_buffer_bytes": -1}}, {"options": 7}, {"tls": "yes"},
]  # fmt: skip


def test_nonsense_in_any_field_is_refused_by_name_and_the_session_goes_on(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            assert "open a run first" in refused_with(client, ask="files")
            for run_id in ("../x", "a" * 32, "", "A" * 32, "\n", 7):
                refused_with(client, ask="open", run_id=run_id)
            assert client.ask(ask="open", capture=False)["ok"] is True
            assert "a run already" in refused_with(client, ask="open")
            good = to_json(TransferRequest(1, 1, "data", 100))
            for nonsense in NONSENSE:
                refused_with(client, **{**good, **nonsense, "ask": "prepare"})
            for message in (
                {"ask": "describe"}, {"ask": "describe", "first": "x"}, {"ask": "fetch", "number": 0, "bytes": 1},
                {"ask": "fetch", "number": -1, "bytes": 1}, {"ask": "finish", "number": 5}, {"ask": "format"},
                {"ask": None}, {"ask": "__init__"}, {}, {"ask": ["open"]},
                {"ask": "finish", "number": 1, "sent": {"bytes": "x"}},
            ):  # fmt: skip
                refused_with(client, **message)
            assert client.ask(ask="describe", first=-(2**60))["ok"] is True
            assert client.ask(ask="describe", first=2**60)["files"] == []
            assert client.ask(ask="time")["ok"] is True
        there.serves()
        assert all("Traceback" not in line and "\n" not in line for line in there.log.lines)


@pytest.mark.parametrize(
    "content",
    [
        "NaN",
        '{"ask":NaN}',
        '{"ask":' + "[" * 10_000,
        '{"a":1' + "0" * 400 + "}",
        "\xff",
        '{"ask":1e400}',
        "[" * 500_000,
    ],
)
def test_what_is_no_message_ends_only_its_session(content: str, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            client.channel._send(b"J", content.encode("latin-1"))
            try:
                assert client.channel.receive(5)["ok"] is False
            except WireError:
                assert is_over(client.socket)
        there.serves()


def test_a_fetch_gives_no_more_than_was_described(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path), there.sender() as control:
        transfer(control, TransferRequest(1, 1, "data", 100))
        (file, *_) = control.files()
        with pytest.raises(WireError, match="was not described as"):
            control.fetch(replace(file, bytes=2**60), lambda _: None)
        control.keep_alive()


def test_limits_of_sessions_bytes_and_streams_hold(tmp_path: Path) -> None:
    limits = Limits(1000, 2500, 3600, 3600, 2)
    with receiver(tmp_path, sessions=1, limits=limits) as there, leaves_nothing(tmp_path):
        with there.sender() as control:
            with pytest.raises(ReceiverBusy, match="--max-sessions"):
                Control.connect(there.endpoint(HOSTILE), KEY, 5)
            with pytest.raises(WireError, match="--max-streams"):
                control.prepare(TransferRequest(1, 1, "data", 900, streams=3))
            with pytest.raises(WireError, match="--max-transfer-bytes"):
                control.prepare(TransferRequest(1, 1, "data", 501, "both"))
            transfer(control, TransferRequest(1, 1, "data", 1000))
            transfer(control, TransferRequest(2, 1, "data", 1000))
            with pytest.raises(WireError, match="--max-session-bytes"):
                control.prepare(TransferRequest(3, 1, "data", 501))
        assert eventually(lambda: len(there.server._sessions) == 0)
        with there.sender() as control:
            transfer(control, TransferRequest(1, 1, "data", 1000))


def asked_in_vain(client: Keyed) -> bool:
    try:
        client.ask(ask="time")
    except WireError:
        return True
    return False


def test_limits_of_time_hold_even_for_who_keeps_alive(tmp_path: Path) -> None:
    with receiver(tmp_path, limits=Limits(1 << 30, 1 << 30, 0.3, 1.2, 2)) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            client.ask(ask="open", capture=False)
            client.ask(**to_json(TransferRequest(1, 1, "data", 100)), ask="prepare")
            with stranger(there.port) as data:
                data.sendall(client.data_auth(receive_exactly(data, hs.HELLO_BYTES, None, "it"), 1, 0, "upload"))
                assert is_over(data, 3)
                far = client.ask(ask="finish", number=1, sent=None)["far_end"]
                assert "--max-transfer-time" in str(far)
            assert eventually(lambda: asked_in_vain(client))
        assert eventually(lambda: "--max-session-time" in there.log)


VANISHING: dict[str, Callable[[Keyed], object]] = {
    "after the handshake": lambda client: client.said,
    "within a message": lambda client: client.socket.sendall(b"\0\0\1\0J{"),
    "with a run": lambda client: client.ask(ask="open", capture=False),
}


@pytest.mark.parametrize("how", VANISHING)
@pytest.mark.parametrize("reset", [False, True], ids=["closes", "resets"])
def test_a_client_that_vanishes_leaves_nothing(how: str, reset: bool, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            VANISHING[how](client)
            if reset:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        there.serves()


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_a_client_that_vanishes_within_a_transfer_leaves_nothing(direction: str, tls: bool, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            client.ask(ask="open", capture=False)
            client.ask(**to_json(TransferRequest(1, 1, "data", 1 << 20, direction, 3, tls)), ask="prepare")
            data = [stranger(there.port) for _ in range(2)]  # the third never comes
            for number, sock in enumerate(data):
                sock.sendall(client.data_auth(receive_exactly(sock, hs.HELLO_BYTES, None, "it"), 1, number, direction))
                receive_exactly(sock, hs.ACCEPT_BYTES, None, "it")
                sock.sendall(b"GO" if direction == "download" and not tls else b"xx")
            assert threading.active_count() > 3
        began_s = time.monotonic()
        assert eventually(lambda: len(there.server._sessions) == 0)
        assert time.monotonic() - began_s < 10
        for sock in data:
            assert is_over(sock)
            sock.close()
        there.serves()


def test_transfers_prepared_and_never_begun_keep_nothing(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            client.ask(ask="open", capture=False)
            before = 0
            for number in range(1, 41):
                request = to_json(TransferRequest(number, 1, "data", 8 << 20, "both", 64, random_bytes=8 << 20))
                assert client.ask(**request, ask="prepare")["ok"] is True
                before = before or resident_bytes()
            assert resident_bytes() - before < 24 << 20
        there.serves()


def test_the_receiver_can_be_stopped_in_the_middle_of_everything(tmp_path: Path) -> None:
    with leaves_nothing(tmp_path), receiver(tmp_path) as there, keyed(there.port) as client, stranger(there.port):
        client.ask(ask="open", capture=False)
        client.ask(**to_json(TransferRequest(1, 1, "data", 100, streams=2)), ask="prepare")
        with stranger(there.port) as data:
            data.sendall(client.data_auth(receive_exactly(data, hs.HELLO_BYTES, None, "it"), 1, 0, "upload"))
            receive_exactly(data, hs.ACCEPT_BYTES, None, "it")
            client.channel.send({"ask": "finish", "number": 1})  # it waits for the second stream
            time.sleep(0.1)
            began_s = time.monotonic()
            there.server.stop()
            assert is_over(client.socket)
            # While the data connection is still open: nobody waits for it any more.
            assert eventually(lambda: all(thread.name != "session" for thread in threading.enumerate()))
            assert time.monotonic() - began_s < 10


def test_hundreds_of_transfers_leave_memory_flat(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path), there.sender() as control:
        before = 0
        for number in range(1, 301):
            request = TransferRequest(number, 1, "data", 2000, "both", 1, random_bytes=2000, tcp_info_interval_s=None)
            transfer(control, request)
            if number == 100:
                before = resident_bytes()
        assert resident_bytes() - before < 3 << 20


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_one_line_and_the_receiver_goes_on(tmp_path: Path) -> None:
    disk = tmp_path / "out"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k,mode=700", "vmtrace-test", str(disk)], check=True)
    try:
        with receiver(tmp_path) as there, leaves_nothing(tmp_path), there.sender() as control:
            transfer(control, TransferRequest(1, 1, "data", 100))
            (disk / "filler").write_bytes(bytes(40 << 10))
            try:
                with (disk / "filler").open("ab", 0) as filler:
                    while True:
                        filler.write(bytes(4096))
            except OSError:
                pass
            with pytest.raises(WireError, match="the receiver could not do it: No space left on device") as raised:
                transfer(control, TransferRequest(2, 2, "data", 100))
            assert str(disk) not in str(raised.value)
            (disk / "filler").unlink()
            outcome, far = transfer(control, TransferRequest(3, 2, "data", 100))
            assert far.error is None
            assert outcome.sent is not None
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


EXHAUSTED = """
import resource, socket, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
from pathlib import Path
from tests.receiver.harness import GENEROUS, receiver
with receiver(Path(sys.argv[1]), GENEROUS) as there:
    there.serves()
    crowd = []
    try:
        while True:
            crowd.append(socket.create_connection(("127.0.0.1", there.port)))
    except OSError:
        pass
    spent_s = time.process_time()
    time.sleep(1)
    assert time.process_time() - spent_s < 0.5, "it burns the processor"
    for sock in crowd:
        sock.close()
    time.sleep(0.3)
    there.serves()
    assert "cannot accept connections just now: Too many open files" in there.log
    assert sum("just now" in line for line in there.log.lines) <= 30
print("served")
"""


def test_a_receiver_without_descriptors_rests_and_goes_on(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", EXHAUSTED, str(tmp_path)],
        check=False, capture_output=True, text=True, timeout=30, cwd=root, env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    assert done.stdout.endswith("served\n"), done.stderr
    assert resource.RLIMIT_NOFILE


def test_a_sender_that_comes_back_gets_its_run_at_once(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as lost:
            run_id = lost.ask(ask="open", capture=False)["run_id"]
            lost.ask(**to_json(TransferRequest(1, 1, "data", 100, streams=2)), ask="prepare")
            with there.sender(run=False) as control:  # by a new connection: the old one is dead but not closed
                assert control.open_run(RunRequest(run_id=str(run_id))).run_id == run_id
                assert is_over(lost.socket)
                transfer(control, TransferRequest(1, 1, "data", 100))
        assert "its sender came back" in there.log
