"""What a session answers; hostile questions are in test_hostile.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.receiver.harness import keyed, leaves_nothing, receiver, transfer
from vmtrace.capture.host_record import HostRecord
from vmtrace.sender.wire.errors import ReceiverBusy, ReceiverRefused
from vmtrace.sender.wire.records import RunRequest, TransferRequest


def test_without_the_right_to_capture_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.receiver.session.missing_rights", lambda: "sudo setcap /usr/bin/python3")
    with receiver(tmp_path, capture=True) as there, there.sender(run=False) as control:
        run = control.open_run(RunRequest())
        assert run.capture_interface is None
        assert run.capture_refusal is not None
        assert "no right to capture" in run.capture_refusal
        assert "/usr" not in run.capture_refusal


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="recording packets needs root")
def test_transfers_are_recorded_and_the_control_connection_is_not(tmp_path: Path) -> None:
    with receiver(tmp_path, capture=True, host_counters=True) as there, leaves_nothing(tmp_path):
        with there.sender(run=False) as control:
            assert control.open_run(RunRequest()).capture_interface == "lo"
            _, far = transfer(control, TransferRequest(1, 1, "data", 100_000))
            assert far.capture is not None
            assert (far.capture.dropped, far.capture.error) == (0, None)
            assert {file.kind for file in control.files()} == {
                "packets",
                "capture",
                "tcpinfo",
                "host",
                "facts",
                "transfers",
            }
            control_port = control.local_address[1]
        (path,) = there.folder.glob("*/packets/receiver/0001-data.pcap")
        read = subprocess.run(["tcpdump", "-nr", str(path)], capture_output=True, text=True, check=True).stdout
        assert len(read.splitlines()) == far.capture.received
        assert f".{control_port} " not in read


def test_what_is_awaited_is_counted_from_the_transfer_that_was_prepared(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, there.sender(run=False) as control:
        sessions = there.server._sessions
        assert sessions.awaited_from("127.0.0.1") == 0
        control.open_run(RunRequest())
        assert sessions.awaited_from("127.0.0.1") == 0
        control.prepare(TransferRequest(1, 1, "data", 100, "both", 3))
        assert sessions.awaited_from("127.0.0.1") == 6
        assert sessions.awaited_from("127.0.0.2") == 0


def test_the_log_says_why_a_session_is_over(tmp_path: Path) -> None:
    with receiver(tmp_path) as there, there.sender(run=False) as first:
        run = first.open_run(RunRequest())
        with there.sender(run=False) as second:
            second.open_run(RunRequest(run_id=run.run_id))
        assert eventually(lambda: "session over (its sender came back by a new connection)" in there.log)
        assert eventually(lambda: "closed the connection)" in there.log)


def test_counters_of_the_host_that_ended_early_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = HostRecord.stop

    def stopped_early(record: HostRecord) -> str:
        stop(record)
        return "receiver.csv: No space left on device: no host counters from here on"

    monkeypatch.setattr(HostRecord, "stop", stopped_early)
    with receiver(tmp_path, host_counters=True) as there:
        with there.sender():
            pass
        assert eventually(lambda: "trouble: receiver.csv: No space left on device" in there.log)


def test_a_defect_ends_its_session_with_one_line_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(_self: object, _number: int) -> None:
        raise ZeroDivisionError("a\ndefect")

    monkeypatch.setattr("vmtrace.receiver.file_desk.FileDesk.describe", defect)
    with receiver(tmp_path) as there, leaves_nothing(tmp_path):
        with keyed(there.port) as client:
            client.ask(ask="open", capture=False)
            client.channel.send({"ask": "describe", "first": 0})
            assert eventually(lambda: "session ended: ZeroDivisionError" in there.log)
        there.serves()


def test_out_of_memory_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_size: int) -> memoryview:
        raise MemoryError

    with receiver(tmp_path) as there, leaves_nothing(tmp_path), there.sender() as control:
        with monkeypatch.context() as patched:
            patched.setattr("vmtrace.receiver.transfer.new_block", full)
            with pytest.raises(ReceiverRefused, match="the receiver could not do it: out of memory"):
                control.prepare(TransferRequest(1, 1, "data", 100, "download"))
        transfer(control, TransferRequest(2, 1, "data", 100, "download"))


def test_a_run_that_cannot_be_taken_over_yet_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.receiver.sessions._LEAVING_S", 0.05)
    monkeypatch.setattr("vmtrace.receiver.session.Session.hang_up", lambda _self, _reason: None)
    with receiver(tmp_path) as there, there.sender(run=False) as first, there.sender(run=False) as second:
        run = first.open_run(RunRequest())
        with pytest.raises(ReceiverBusy, match="try again"):
            second.open_run(RunRequest(run_id=run.run_id))
