"""The record of a transfer is that of docs/run-folder.md."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sender.fakes import FakeCapture, FakeFarSide, FakeInstruments, FastInterruption, healthy
from vmtrace.capture.settings import CaptureSettings
from vmtrace.capture.tcp_info import TcpInfoSample
from vmtrace.sender.display.view import Display
from vmtrace.sender.display.words import pair_words
from vmtrace.sender.far_side import FarControl
from vmtrace.sender.link import Link
from vmtrace.sender.plan import TransferPlan
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.settings import Settings
from vmtrace.sender.transfers import TransferFailed, Transfers, transfer_record
from vmtrace.sender.wire.records import Arrival, CaptureCounts, FarEnd, RunRequest, Sent, TcpSummary
from vmtrace.sender.wire.stream_life import ConnectionName
from vmtrace.sender.wire.transfer import Outcome

NewRun = Callable[..., RunFolder]
DOCUMENT = Path(__file__).parents[2] / "docs/run-folder.md"
OUTCOME = Outcome(
    5_000,
    2_000_005_000,
    2.0,
    0.2,
    (ConnectionName(0, "upload", "198.18.1.1:40001", "198.18.2.1:5810"),),
    (),
    Sent((1000,), ("0" * 64,)),
    None,
)


def far_end(tcp: TcpSummary | None = None) -> FarEnd:
    return FarEnd(Arrival(1000, 1_000_000_000, 2_500_000_000, True), None, tcp, None, None)


def sample(direction: str, **values: float | None) -> TcpInfoSample:
    fields = {field.name: None for field in dataclasses.fields(TcpInfoSample)}
    known = {"time_ns": 1, "stream": 0, "direction": direction, "local_port": 1, "congestion_control": "cubic"}
    return TcpInfoSample(**{**fields, **known, **values})  # type: ignore[arg-type]


def test_the_record_has_the_keys_that_are_documented() -> None:
    text = DOCUMENT.read_text()
    table = text[text.index("`TRANSFER`:") : text.index("`attempts.jsonl`:")]
    documented = {
        name for row in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    record = transfer_record(TransferPlan(1000), OUTCOME, far_end(), ())
    assert documented - {"capture"} == set(record)


def test_goodput_and_arrival() -> None:
    record = transfer_record(TransferPlan(1000), OUTCOME, far_end(), ())
    assert (record["bytes"], record["duration_s"], record["goodput_bps"]) == (1000, 2.0, 4000.0)
    assert record["receiver"] == {"first_byte_ns": 1_000_000_000, "last_byte_ns": 2_500_000_000, "duration_s": 1.5}
    assert (record["tcp"], record["tls"]) == (None, None)


@pytest.mark.parametrize(
    ("direction", "again", "out", "min_rtt_s"),
    [("upload", 1, 10, 0.2), ("download", 5, 50, 0.1), ("both", 6, 60, 0.1)],
)
def test_tcp_is_that_of_the_side_that_sends(direction: str, again: int, out: int, min_rtt_s: float) -> None:
    own = [
        sample("upload", retransmitted_segments=1, segments_out=10, min_rtt_s=0.2),
        sample("download", retransmitted_segments=77, segments_out=77, min_rtt_s=0.01),
    ]
    far = TcpSummary("bbr", 5, 50, 0.1, 0.15, None)
    tcp = transfer_record(TransferPlan(1000, direction), OUTCOME, far_end(far), own)["tcp"]
    assert (tcp["retransmitted_segments"], tcp["segments_out"], tcp["min_rtt_s"]) == (again, out, min_rtt_s)


def test_what_one_side_does_not_know_is_not_half_a_sum() -> None:
    own = [sample("upload", retransmitted_segments=1, segments_out=10)]
    far = TcpSummary("bbr", None, 50, None, None, None)
    tcp = transfer_record(TransferPlan(1000, "both"), OUTCOME, far_end(far), own)["tcp"]
    assert (tcp["retransmitted_segments"], tcp["segments_out"], tcp["min_rtt_s"]) == (None, 60, None)


def transfers(
    folder: RunFolder,
    far_side: FakeFarSide,
    instruments: FakeInstruments | None = None,
    capture: CaptureSettings | None = None,
) -> Transfers:
    interruption = FastInterruption()
    link = Link(far_side, lambda: RunRequest(folder.run_id), interruption)
    return Transfers(far_side, link, instruments or FakeInstruments(), folder, capture, interruption)


def test_without_any_capture_there_is_none_in_the_record(new_run: NewRun) -> None:
    class NoCapture(FakeFarSide):
        def connect(self) -> FarControl:  # type: ignore[override]
            control = super().connect()
            finish = control.finish
            control.finish = lambda number, sent: dataclasses.replace(  # type: ignore[method-assign]
                finish(number, sent), capture=None
            )
            return control

    run = transfers(new_run(), NoCapture()).run
    assert run(1, "probe", TransferPlan(10), Display())["capture"] is None


def test_a_receiver_that_could_not_record_is_in_the_record(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.prepare_capture_error = "no such interface"
    record = transfers(new_run(), far_side).run(1, "probe", TransferPlan(10), Display())
    assert record["capture"]["receiver_error"] == "no such interface"


def test_captures_that_saw_nothing_of_a_transfer_are_no_captures_of_it(new_run: NewRun) -> None:
    class Elsewhere(FakeInstruments):
        def start_capture(self, settings: CaptureSettings, path: Path) -> FakeCapture:
            path.write_bytes(b"header")
            return FakeCapture(dataclasses.replace(healthy(settings), received=0, written=0))

    class Nothing(FakeFarSide):
        def connect(self) -> FarControl:  # type: ignore[override]
            control = super().connect()
            finish = control.finish
            control.finish = lambda number, sent: dataclasses.replace(  # type: ignore[method-assign]
                finish(number, sent), capture=CaptureCounts(0, 0, None)
            )
            return control

    record = transfers(new_run(), Nothing(), Elsewhere(), CaptureSettings("eth9")).run(
        1, "probe", TransferPlan(10), Display()
    )
    capture = record["capture"]
    assert capture["sender_error"] == "no packet of the transfer passed eth9: does it lead to the receiver?"
    assert capture["receiver_error"] == "no packet of the transfer passed the interface: does it lead to the sender?"
    assert "capture at the sender failed: no packet" in pair_words(
        {"status": "complete", "index": "a", "pair": 1, "probe": record, "data": record}
    )


def test_what_the_receiver_says_went_wrong_fails_the_transfer(new_run: NewRun) -> None:
    class Failing(FakeFarSide):
        def connect(self) -> FarControl:  # type: ignore[override]
            control = super().connect()
            finish = control.finish
            control.finish = lambda number, sent: dataclasses.replace(  # type: ignore[method-assign]
                finish(number, sent), error="a stream came short"
            )
            return control

    far_side = Failing()
    with pytest.raises(TransferFailed, match="probe: the receiver says: a stream came short"):
        transfers(new_run(), far_side).run(1, "probe", TransferPlan(10), Display())


def test_files_of_an_attempt_before_are_gone_before_the_next(new_run: NewRun) -> None:
    folder = new_run(settings=Settings(ping=False, tcp_info_interval_s=None))
    left = [folder.path_of(kind, 1, "probe") for kind in ("packets", "capture", "tcpinfo")]
    for path in left:
        path.write_text("old")
    transfers(folder, FakeFarSide()).run(1, "probe", TransferPlan(10), Display())
    assert not any(path.exists() for path in left)
