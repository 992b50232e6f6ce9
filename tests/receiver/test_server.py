"""The door with honest senders; strangers at it are in test_hostile.py."""

from __future__ import annotations

import errno
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.receiver.harness import (
    GENEROUS,
    KEY,
    Census,
    census,
    is_over,
    leaves_nothing,
    receiver,
    stranger,
    transfer,
)
from vmtrace.receiver.admission import Admission
from vmtrace.receiver.certificate import NoCertificate
from vmtrace.receiver.log import Log
from vmtrace.receiver.server import Server
from vmtrace.receiver.settings import AdmissionLimits, ReceiverSettings
from vmtrace.sender.wire import handshake
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.records import RunRequest, TransferRequest
from vmtrace.sender.wire.transfer import digest_ok

pytestmark = pytest.mark.slow


def test_it_serves_and_stops_and_leaves_nothing(tmp_path: Path) -> None:
    with leaves_nothing(tmp_path):
        with receiver(tmp_path) as there:
            there.serves()
            assert there.server.address == f"127.0.0.1:{there.port}"
        there.server.stop()


def test_the_largest_transfers_pass_the_default_limits_one_after_the_other(tmp_path: Path) -> None:
    with receiver(tmp_path, AdmissionLimits()) as there, leaves_nothing(tmp_path), there.sender() as control:
        for number in range(1, 5):
            outcome, far = transfer(control, TransferRequest(number, 1, "data", 64_000, "both", 64))
            assert digest_ok(outcome, far)


def test_several_senders_are_served_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):

        def serve(host: str) -> None:
            try:
                there.serves(host)
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        threads = [threading.Thread(target=serve, args=(f"127.0.0.{number}",)) for number in range(2, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def greeted(sock: socket.socket) -> bool:
    sock.settimeout(15)
    try:
        return len(sock.recv(handshake.HELLO_BYTES, socket.MSG_WAITALL)) == handshake.HELLO_BYTES
    except OSError:
        return False


def test_the_last_place_goes_to_the_newest_unless_it_is_reserved(tmp_path: Path) -> None:
    with receiver(tmp_path, replace(GENEROUS, unproven=1)) as there, leaves_nothing(tmp_path):
        with stranger(there.port, "127.0.0.3") as first, stranger(there.port, "127.0.0.4") as second:
            assert greeted(first)
            assert is_over(first)
            assert greeted(second)
        with there.sender("127.0.0.2"), stranger(there.port, "127.0.0.2") as known:
            assert greeted(known)
            with stranger(there.port, "127.0.0.3") as nobody, stranger(there.port, "127.0.0.2") as another:
                assert not greeted(nobody)
                assert greeted(another)
                assert not is_over(known, 0.2)


def test_the_unproven_get_half_of_the_descriptors_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.receiver.server.open_files", lambda: 6)
    patient = replace(GENEROUS, unproven=64, introduction_s=600)
    with receiver(tmp_path, patient) as there, leaves_nothing(tmp_path), ExitStack() as strangers:
        first, *others = [strangers.enter_context(stranger(there.port, f"127.0.{n}.1")) for n in range(2, 6)]
        assert is_over(first)
        assert all(greeted(one) for one in others)
        assert len(there.server._places) == 3


def test_places_are_reserved_while_streams_are_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admission, "has_proved", lambda _self, _origin: False)
    with receiver(tmp_path) as there, leaves_nothing(tmp_path), there.sender("127.0.0.2") as control:
        for host, reserved in (("127.0.0.2", False), ("127.0.0.3", False), ("127.0.0.2", True)):
            if reserved:
                control.prepare(TransferRequest(1, 1, "data", 100))
            with stranger(there.port, host) as sock:
                assert greeted(sock)
                assert eventually(there.server._places.all)
                assert [(one.host, one.reserved) for one in there.server._places.all()] == [(host, reserved)]
            assert eventually(lambda: not there.server._places.all())


def test_ipv6_and_ipv4_reach_one_receiver(tmp_path: Path) -> None:
    with receiver(tmp_path, bind=None) as there, leaves_nothing(tmp_path):
        for host in ("127.0.0.1", "::1"):
            control = Control.connect(Endpoint(host, there.port), KEY, 5)
            control.open_run(RunRequest())
            outcome, far = transfer(control, TransferRequest(1, 1, "data", 1000, "both"))
            assert digest_ok(outcome, far)
            control.close()


def test_a_certificate_that_is_not_valid_is_reported_before_it_listens(tmp_path: Path) -> None:
    before = census(tmp_path)
    settings = replace(ReceiverSettings(tmp_path, port=0), certificate=tmp_path / "absent.pem")
    with pytest.raises(NoCertificate, match=r"absent\.pem: no certificate"):
        Server(settings, KEY, Log(), "1")
    assert census(tmp_path) == before


def test_a_receiver_without_descriptors_does_not_burn_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def exhausted(_self: socket.socket) -> None:
        tried.append(1)
        raise OSError(errno.EMFILE, "Too many open files")

    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with monkeypatch.context() as patched:
            patched.setattr(socket.socket, "accept", exhausted)
            began_s = time.monotonic()
            with stranger(there.port):
                assert eventually(lambda: len(tried) >= 3)
            assert time.monotonic() - began_s > 0.1
        there.serves()


def test_what_is_left_behind_is_seen_whatever_else_is_gone() -> None:
    before = Census(3, 9, frozenset())
    assert Census(3, 9, frozenset()).is_within(before)
    assert Census(2, 8, frozenset()).is_within(before)
    for more in (Census(4, 8, frozenset()), Census(2, 10, frozenset()), Census(2, 8, frozenset({".x.aside"}))):
        assert not more.is_within(before)
