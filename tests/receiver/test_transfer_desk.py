import socket
import time
from pathlib import Path

import pytest

from tests.receiver.harness import Memo, leaves_nothing
from vmtrace.capture.tcp_info import TcpInfoSample, TcpInfoSampler
from vmtrace.receiver.certificate import Certificate
from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.storage import Storage
from vmtrace.receiver.transfer_desk import TransferDesk
from vmtrace.sender.wire.data_connection import Stream
from vmtrace.sender.wire.records import Limits, TransferRequest

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
