import hashlib
import json
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.receiver.harness import Memo, leaves_nothing
from tests.receiver.test_transfer import connection
from vmtrace.capture.tcp_info import TcpInfoSample, TcpInfoSampler
from vmtrace.receiver.certificate import Certificate
from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.storage import Storage
from vmtrace.receiver.transfer_desk import TransferDesk
from vmtrace.sender.wire.data_connection import Stream
from vmtrace.sender.wire.records import Limits, Sent, TransferRequest

LIMITS = Limits(1000, 2000, 60, 600, 4)


NO_CERTIFICATE = Certificate(None, None, "")  # type: ignore[arg-type]
"""Nobody asks for TLS here."""


@pytest.fixture
def desk(tmp_path: Path) -> TransferDesk:
    return TransferDesk(Storage(tmp_path).new_run(), None, LIMITS, Memo(), "it")


def test_numbers_count_up(desk: TransferDesk) -> None:
    desk.prepare(TransferRequest(5, 1, "data", 10), NO_CERTIFICATE)
    for number in (5, 4, 0, 2**32):
        with pytest.raises(Refusal, match=f"transfer {number} comes after 5"):
            desk.prepare(TransferRequest(number, 1, "data", 10), NO_CERTIFICATE)
    desk.abort()


LEAST = TransferRequest(1, 1, "probe", 1, random_bytes=1, tcp_info_interval_s=0.001)
MOST = TransferRequest(
    2**32 - 1, 999_999_999, "data", 500, "both", 4, random_bytes=256 << 20, tcp_info_interval_s=3600.0
)  # fmt: skip


@pytest.mark.parametrize("request_", [LEAST, MOST, replace(MOST, bytes=4, tcp_info_interval_s=None)])
def test_the_least_and_the_most_are_possible(desk: TransferDesk, request_: TransferRequest) -> None:
    assert desk.prepare(request_, NO_CERTIFICATE).number == request_.number
    desk.abort()
    desk.check_time(time.monotonic() + 3600)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (replace(LEAST, number=0), "transfer 0 comes after 0"),
        (replace(MOST, number=2**32), "comes after 0"),
        (replace(LEAST, part="host"), "no transfer is called host upload"),
        (replace(LEAST, direction="sideways"), "no transfer is called probe sideways"),
        (replace(LEAST, sequence=0), "no pair has number 0"),
        (replace(MOST, sequence=10**9), "no pair has number 1000000000"),
        (replace(LEAST, streams=0), "0 streams: this receiver allows 1 to 4"),
        (replace(MOST, streams=5), "5 streams: this receiver allows 1 to 4"),
        (replace(LEAST, bytes=0), "0 bytes are too few for 1 streams"),
        (replace(MOST, bytes=3), "3 bytes are too few for 4 streams"),
        (replace(MOST, bytes=501), "a transfer of 1002 bytes: this receiver allows 1000"),
        (replace(LEAST, random_bytes=0), "0 random bytes"),
        (replace(MOST, random_bytes=(256 << 20) + 1), "random bytes: 1 to 268435456 are possible"),
        (replace(LEAST, tcp_info_interval_s=0.0009), "TCP_INFO is sampled every 0.001 to 3600 s"),
        (replace(MOST, tcp_info_interval_s=3600.1), "TCP_INFO is sampled every 0.001 to 3600 s"),
    ],
)
def test_less_and_more_are_refused(desk: TransferDesk, request_: TransferRequest, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        desk.prepare(request_, NO_CERTIFICATE)
    assert desk.deadline_s is None


@pytest.mark.parametrize("sha256", [hashlib.sha256(b"x" * 10).hexdigest(), "0" * 64])
def test_what_arrived_is_in_the_log_as_verified_or_not(sha256: str, tmp_path: Path) -> None:
    log, run = Memo(), Storage(tmp_path).new_run()
    desk = TransferDesk(run, None, LIMITS, log, "it")
    before_ns = time.time_ns()
    desk.prepare(TransferRequest(1, 7, "data", 10), NO_CERTIFICATE)
    ours, theirs = connection()
    with ours:
        assert desk.take(Stream(b"s" * 16, 1, 0, "upload"), theirs, b"")
        ours.sendall(b"x" * 10)
        assert ours.recv(16, socket.MSG_WAITALL).startswith(b"DONE")
    far = desk.finish(1, Sent((10,), (sha256,)))
    assert far.arrival is not None
    assert (far.arrival.bytes, far.sent, far.tcp, far.capture, far.error) == (10, None, None, None, None)
    verified = sha256[0] != "0"
    said = "verified" if verified else "NOT what was sent"
    assert f"transfer: it: pair 7 data, upload of 10 bytes: {said}" in log.lines
    record = json.loads((run.folder / "receiver.jsonl").read_text())
    assert (record["verified"], record["error"]) == (verified, None)
    assert before_ns <= record["first_byte_ns"] <= record["last_byte_ns"] <= record["end_ns"]


def test_a_new_transfer_ends_the_one_before(desk: TransferDesk, tmp_path: Path) -> None:
    with leaves_nothing(tmp_path):
        for number in range(1, 20):
            desk.prepare(TransferRequest(number, 1, "data", 10, streams=2), NO_CERTIFICATE)
            assert desk.awaited == 2
        desk.abort()
        assert desk.awaited == 0
        assert desk.deadline_s is None


def test_only_the_transfer_that_was_prepared_can_be_finished(desk: TransferDesk) -> None:
    desk.prepare(TransferRequest(1, 1, "data", 10), NO_CERTIFICATE)
    with pytest.raises(Refusal, match="transfer 2 is not the one that was prepared"):
        desk.finish(2, None)
    desk.interrupt("enough")
    assert desk.finish(1, None).error == "enough"
    with pytest.raises(Refusal, match="transfer 1 is not"):
        desk.finish(1, None)


def test_a_stream_of_another_transfer_is_not_taken(desk: TransferDesk) -> None:
    with socket.socket() as sock:
        assert not desk.take(Stream(b"s" * 16, 1, 0, "upload"), sock, b"")
        desk.prepare(TransferRequest(1, 1, "data", 10), NO_CERTIFICATE)
        assert not desk.take(Stream(b"s" * 16, 2, 0, "upload"), sock, b"")
        desk.abort()


def test_a_transfer_that_takes_too_long_is_ended(desk: TransferDesk) -> None:
    desk.prepare(TransferRequest(1, 1, "data", 10), NO_CERTIFICATE)
    desk.check_time(time.monotonic())
    assert desk.awaited == 1
    desk.check_time(time.monotonic() + 61)
    error = desk.finish(1, None).error
    assert error is not None
    assert "60 s (--max-transfer-time)" in error


def test_bytes_of_a_session_are_spent_when_they_are_promised(desk: TransferDesk) -> None:
    desk.prepare(TransferRequest(1, 1, "data", 500, "both"), NO_CERTIFICATE)
    desk.prepare(TransferRequest(2, 1, "data", 1000), NO_CERTIFICATE)
    with pytest.raises(Refusal, match="--max-session-bytes"):
        desk.prepare(TransferRequest(3, 1, "data", 1), NO_CERTIFICATE)
    desk.abort()


def test_samples_that_could_not_be_kept_are_reported_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = TcpInfoSampler.finish

    def on_a_full_disk(sampler: TcpInfoSampler) -> tuple[TcpInfoSample, ...]:
        samples = finish(sampler)
        sampler.error = "0001-data.csv: No space left on device: TCP_INFO is kept until here"
        return samples

    monkeypatch.setattr(TcpInfoSampler, "finish", on_a_full_disk)
    log = Memo()
    desk = TransferDesk(Storage(tmp_path).new_run(), None, LIMITS, log, "it")
    desk.prepare(TransferRequest(1, 1, "data", 10), NO_CERTIFICATE)
    desk.interrupt("enough")
    desk.finish(1, None)
    assert "trouble: it: 0001-data.csv: No space left on device: TCP_INFO is kept until here" in log
