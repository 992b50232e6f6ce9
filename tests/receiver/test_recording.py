import os
import socket
from pathlib import Path

import pytest

from tests.receiver.harness import leaves_nothing
from vmtrace.capture.buffer_size import LARGEST_AFTER_DROP_BYTES
from vmtrace.receiver.recording import CapturePlan, Recording, _allowed
from vmtrace.receiver.storage import Storage
from vmtrace.sender.wire.records import TransferRequest

pytestmark = pytest.mark.slow


def test_a_capture_that_cannot_be_made_is_reported_without_paths_of_this_host(tmp_path: Path) -> None:
    run = Storage(tmp_path).new_run()
    with leaves_nothing(tmp_path):
        recording = Recording(run, TransferRequest(1, 1, "data", 1), CapturePlan("nosuch0", "tcp", None))
        counts, samples = recording.stop()
    assert recording.capture_error is not None
    assert str(tmp_path) not in recording.capture_error
    assert counts is not None
    assert counts.error == recording.capture_error
    assert samples == ()
    assert (run.folder / "tcpinfo/receiver/0001-data.csv").exists()


@pytest.mark.parametrize(("snaplen", "buffer_bytes"), [(-5, None), (2**40, None), (None, -1), (None, 0)])
def test_nonsense_about_the_capture_fails_the_capture_alone(
    snaplen: int | None, buffer_bytes: int | None, tmp_path: Path
) -> None:
    run = Storage(tmp_path).new_run()
    request = TransferRequest(1, 1, "data", 1, tcp_info_interval_s=None, capture_buffer_bytes=buffer_bytes)
    with leaves_nothing(tmp_path):
        recording = Recording(run, request, CapturePlan("lo", "tcp", snaplen))
        recording.stop()
    if buffer_bytes is None:
        assert recording.capture_error is not None


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.skipif(os.geteuid() != 0, reason="recording packets needs root")
def test_an_attempt_that_is_repeated_replaces_its_files(tmp_path: Path) -> None:
    run = Storage(tmp_path).new_run()
    plan = CapturePlan("lo", "tcp port 1", None)
    with leaves_nothing(tmp_path):
        for _ in range(2):
            recording = Recording(run, TransferRequest(1, 1, "data", 1, capture_buffer_bytes=4 << 20), plan)
            counts, _ = recording.stop()
            assert counts is not None
            assert counts.error is None
    assert (run.folder / "packets/receiver/0001-data.capture.json").exists()


def test_a_disk_that_fails_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Storage(tmp_path).new_run()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Recording, "_start_capture", broken)
    with leaves_nothing(tmp_path), pytest.raises(OSError, match="No space left"):
        Recording(run, TransferRequest(1, 1, "data", 1), CapturePlan("lo", "tcp", None))


@pytest.mark.parametrize("interval_s", [0.01, None])
def test_connections_are_sampled_while_they_are_watched_if_that_was_asked_for(
    interval_s: float | None, tmp_path: Path
) -> None:
    run = Storage(tmp_path).new_run()
    with leaves_nothing(tmp_path), socket.create_server(("127.0.0.1", 0)) as listener:
        recording = Recording(run, TransferRequest(1, 1, "data", 1, tcp_info_interval_s=interval_s), None)
        with socket.create_connection(listener.getsockname()) as sock:
            recording.watch(3, "download", sock)
            recording.unwatch(3, "download")
        counts, samples = recording.stop()
    assert counts is None
    assert [(one.stream, one.direction) for one in samples] == ([] if interval_s is None else [(3, "download")])
    assert (run.folder / "tcpinfo/receiver/0001-data.csv").exists() == (interval_s is not None)
    assert recording.sampling_error is None


def test_a_sender_cannot_have_all_of_the_kernels_memory() -> None:
    assert _allowed(None) is None
    largest = _allowed(2**62)
    assert largest is not None
    assert 0 < largest <= LARGEST_AFTER_DROP_BYTES
