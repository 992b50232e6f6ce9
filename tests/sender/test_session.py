"""A session: what is checked before it begins, what it records of the parties, how it ends."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.sender.fakes import FakeControl, FakeFarSide, FakeInstruments, raising
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.settings import CaptureSettings
from vmtrace.sender import session
from vmtrace.sender.display.view import Display, RunEnd, RunView
from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan import Plan, TransferPlan
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.session import Order, check_limits, fetch, send
from vmtrace.sender.settings import Settings
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.records import Limits, RemoteFile

NewRun = Callable[..., RunFolder]
QUICK = Settings(ping=False, host_counters=False, interface="lo", patience_s=0.0)


class Listening(Display):
    def __init__(self) -> None:
        self.views: list[RunView] = []
        self.ends: list[RunEnd] = []
        self.notices: list[str] = []

    def started(self, run: RunView) -> None:
        self.views.append(run)

    def noticed(self, text: str) -> None:
        self.notices.append(text)

    def ended(self, end: RunEnd) -> None:
        self.ends.append(end)


class Sending:
    """`send` on fakes."""

    def __init__(self, folder: RunFolder, far_side: FakeFarSide, **order: Any) -> None:
        self.display, self.complaints = Listening(), list[str]()
        self.instruments = FakeInstruments()
        self._folder, self._far_side = folder, far_side
        self._order = Order(Endpoint("198.18.2.1"), b"k" * 32, **order)

    def run(self) -> int:
        return send(self._folder, self._order, self.display, self.complaints.append, self.instruments, self._far_side)

    @property
    def state(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self._folder.path / "run.json").read_text())
        return content


def test_a_session_that_does_all_ends_with_0_and_a_summary(new_run: NewRun) -> None:
    sending = Sending(new_run(settings=QUICK, begun=False), FakeFarSide())
    assert sending.run() == 0
    state = sending.state
    assert (state["status"], state["pairs_finished"], state["id"]) == ("complete", 3, "a" * 32)
    assert state["sender"]["capture"]["interface"] == "lo"
    assert state["receiver"]["capture"]["interface"] == "eth0"
    assert (state["receiver"]["name"], state["receiver"]["host"]) == ("198.18.2.1", "there")
    assert (state["clock"]["offset_s"], state["clock"]["error_s"]) == (0.25, 0.01)
    assert state["receiver_half"] == {"status": "complete", "files": 0, "bytes": 0, "error": None}
    assert sending.display.views[0].capture == "packets are recorded: here on lo, there on eth0"
    assert sending.display.ends[0].summary.startswith("complete: 3 of 3 pairs finished")
    assert sending.complaints == []


def test_run_json_says_where_both_parties_are(new_run: NewRun) -> None:
    sending = Sending(new_run(settings=QUICK, begun=False), FakeFarSide())
    sending.run()
    for party, address in (("sender", FakeControl.local_address), ("receiver", FakeControl.peer_address)):
        assert (sending.state[party]["address"], sending.state[party]["port"]) == address


@pytest.mark.parametrize(
    ("here", "there", "line"),
    [
        (True, None, "packets are recorded: here on lo, not at the receiver"),
        (False, "eth0", "packets are recorded: not at this side, there on eth0"),
    ],
)
def test_who_records_alone_is_said(new_run: NewRun, here: bool, there: str | None, line: str) -> None:
    far_side = FakeFarSide()
    far_side.accepted = dataclasses.replace(far_side.accepted, capture_interface=there)
    sending = Sending(new_run(settings=dataclasses.replace(QUICK, capture=here), begun=False), far_side)
    sending.run()
    assert sending.display.views[0].capture == line


def test_packets_are_recorded_at_the_interface_towards_the_receiver(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "interface_towards", lambda host: f"towards {host}")
    sending = Sending(new_run(settings=dataclasses.replace(QUICK, interface=None), begun=False), FakeFarSide())
    sending.run()
    assert sending.state["sender"]["capture"]["interface"] == "towards 198.18.2.1"


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ({}, []),
        ({"host_counters": True}, [("lo", False)]),
        ({"host_counters": True, "instance_metadata": True, "interface": "any"}, [(None, True)]),
        ({"host_counters": True, "capture": False}, [(None, False)]),
    ],
)
def test_counters_are_of_the_interface_that_is_recorded(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], asked: list[tuple[str | None, bool]]
) -> None:
    def begun(_folder: RunFolder, interface: str | None, *, metadata: bool) -> SimpleNamespace:
        begun_with.append((interface, metadata))
        return SimpleNamespace(stop=lambda: "host.csv: No space left")

    begun_with: list[tuple[str | None, bool]] = []
    monkeypatch.setattr(session, "begin_host_record", begun)
    settings = dataclasses.replace(QUICK, **{"instance_metadata": False, **changed})
    sending = Sending(new_run(settings=settings, begun=False), FakeFarSide())
    assert sending.run() == 0
    assert begun_with == asked
    assert sending.display.notices == ["host.csv: No space left"] * len(asked)


@pytest.mark.parametrize("ping", [False, True])
def test_round_trips_are_measured_where_they_are_wanted(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch, ping: bool
) -> None:
    def baseline(_endpoint: Endpoint, address: str, *_: object) -> SimpleNamespace:
        made.append(address)
        return SimpleNamespace(before=lambda _sequence: None, close=lambda: made.append(""))

    made: list[str] = []
    monkeypatch.setattr(session, "baseline_of", baseline)
    Sending(new_run(settings=dataclasses.replace(QUICK, ping=ping), begun=False), FakeFarSide()).run()
    assert made == (["198.18.2.1", ""] if ping else [])


def test_pairs_that_failed_end_with_1(new_run: NewRun) -> None:
    far_side = FakeFarSide([raising(OSError(2, "no such algorithm"))])
    sending = Sending(new_run(settings=dataclasses.replace(QUICK, attempts=1), begun=False), far_side)
    assert sending.run() == 1
    assert sending.state["pairs_failed"] == 1


def test_a_receiver_gone_for_good_ends_with_1_and_says_how_to_go_on(new_run: NewRun) -> None:
    far_side = FakeFarSide([None, None, raising(ReceiverGone("there: lost"))])
    folder = new_run(settings=QUICK, begun=False)
    sending = Sending(folder, far_side)
    assert sending.run() == 1
    assert sending.complaints == [
        f"given up: there: lost: to go on: vmtrace send --resume {folder.path} --key-file FILE"
    ]
    assert sending.state["status"] == "interrupted"
    assert sending.state["receiver_half"]["status"] == "missing"
    again = Sending(folder, FakeFarSide())
    assert again.run() == 0
    assert again.display.ends[0].record["pairs_finished"] == 3
    assert len(again.state["sessions"]) == 2


def test_a_run_that_goes_on_waits_for_its_receiver_as_long_as_patience_says(new_run: NewRun) -> None:
    folder = new_run(settings=dataclasses.replace(QUICK, patience_s=1.5), begun=False)
    first = FakeFarSide()
    first.refusals = [ReceiverGone("there: refused")]
    with pytest.raises(ReceiverGone):  # it may be the wrong address
        Sending(folder, first).run()
    assert Sending(folder, FakeFarSide([None, raising(KeyboardInterrupt())])).run() != 0
    away = FakeFarSide()
    away.refusals = [ReceiverGone("there: refused")] * 2
    sending = Sending(folder, away)
    assert sending.run() == 0
    assert len(sending.display.notices) == 2
    assert sending.display.notices[0] == "there: refused; trying again in 1 s"
    assert sending.display.notices[1].startswith("there: refused; trying again in ")  # what is left of 1.5 s


def test_a_disk_too_full_for_the_end_of_the_run_is_one_line_that_says_how_to_go_on(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "run1/run.json")

    folder = new_run(settings=QUICK, begun=False)
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "end", full)
        with pytest.raises(SenderError, match=r"^run1/run.json: No space left on device: to go on: vmtrace send --res"):
            Sending(folder, FakeFarSide()).run()
    again = Sending(folder, FakeFarSide())
    assert again.run() == 0
    assert again.state["status"] == "complete"


def test_a_half_that_does_not_come_ends_with_1(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.files = [RemoteFile(0, "packets", 1, "probe", 1 << 60, "0" * 64)]
    sending = Sending(new_run(settings=QUICK, begun=False), far_side)
    assert sending.run() == 1
    assert "what is missing comes with: vmtrace fetch" in sending.complaints[0]
    assert sending.state["status"] == "complete"


class Interrupted(FakeFarSide):
    """Ctrl-C while its file comes."""

    def send_file(self, file: RemoteFile, write: Callable[[bytes], object]) -> None:  # noqa: ARG002
        raise KeyboardInterrupt


SOME = RemoteFile(0, "packets", 1, "probe", 4, hashlib.sha256(b"some").hexdigest())


def test_a_half_that_is_interrupted_ends_with_1_and_is_missing(new_run: NewRun) -> None:
    far_side = Interrupted()
    far_side.files = [SOME]
    sending = Sending(new_run(settings=QUICK, begun=False), far_side)
    assert sending.run() == 1
    reason = "interrupted while the receiver's files were fetched"
    assert sending.state["receiver_half"] == {"status": "missing", "files": 0, "bytes": 0, "error": reason}
    assert sending.complaints[0].startswith(reason)


@pytest.mark.parametrize(
    ("far_side", "size", "status", "complaint"),
    [
        (FakeFarSide(), 4, 0, None),
        (FakeFarSide(), 1 << 60, 1, "the receiver's files need"),
        (Interrupted(), 4, 130, "interrupted: what was fetched stays"),
    ],
)
def test_fetching_later_ends_as_it_went(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch,
    far_side: FakeFarSide, size: int, status: int, complaint: str | None,
) -> None:  # fmt: skip
    far_side.files, far_side.contents = [dataclasses.replace(SOME, bytes=size)], {0: b"some"}
    monkeypatch.setattr(session, "OverTheWire", lambda _endpoint, _key: far_side)
    complaints: list[str] = []
    folder = new_run(settings=QUICK)
    order = Order(Endpoint("198.18.2.1"), b"k" * 32)
    assert fetch(folder, order, Listening(), complaints.append) == status
    assert len(complaints) == (complaint is not None)
    assert complaint is None or complaint in complaints[0]
    assert far_side.opened[0].run_id == folder.run_id


def test_a_half_that_is_not_wanted_is_left_there(new_run: NewRun) -> None:
    sending = Sending(new_run(settings=QUICK, begun=False), FakeFarSide(), fetch=False)
    assert sending.run() == 0
    assert sending.state["receiver_half"]["status"] == "missing"


def test_a_receiver_that_is_not_there_begins_no_session(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.refusals = [ReceiverGone("198.18.2.1:5810: no answer")]
    folder = new_run(settings=QUICK, begun=False)
    with pytest.raises(ReceiverGone):
        Sending(folder, far_side).run()
    assert not (folder.path / "run.json").exists()


def test_a_metadata_setting_that_makes_no_sense_begins_no_session(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMTRACE_METADATA", "yes")
    settings = dataclasses.replace(QUICK, host_counters=True, instance_metadata=True)
    folder = new_run(settings=settings, begun=False)
    with pytest.raises(ValueError, match="VMTRACE_METADATA=yes: must be never"):
        Sending(folder, FakeFarSide()).run()
    assert not (folder.path / "run.json").exists()


def test_a_metadata_setting_is_not_looked_at_where_it_has_no_use(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMTRACE_METADATA", "yes")
    for counters, metadata in ((False, True), (True, False)):
        settings = dataclasses.replace(QUICK, host_counters=counters, instance_metadata=metadata)
        assert Sending(new_run(settings=settings, begun=False), FakeFarSide()).run() == 0


def test_without_the_right_to_capture_one_line_names_the_way_on(new_run: NewRun) -> None:
    class Forbidden(FakeInstruments):
        def check(self, settings: CaptureSettings) -> None:  # noqa: ARG002
            raise CaptureError("no right to capture: this needs the capability CAP_NET_RAW")

    far_side = FakeFarSide()
    sending = Sending(new_run(settings=QUICK, begun=False), far_side)
    sending.instruments = Forbidden()
    with pytest.raises(SenderError, match=r"CAP_NET_RAW \(or --no-capture, to go on without"):
        sending.run()
    assert far_side.connected == 0


def test_samples_that_could_not_be_kept_are_reported_and_the_run_goes_on(new_run: NewRun) -> None:
    sending = Sending(new_run(settings=QUICK, begun=False), FakeFarSide())
    sending.instruments = FakeInstruments(sampling_error="tcp_info.csv: No space left: TCP_INFO is kept until here")
    assert sending.run() == 0
    assert set(sending.display.notices) == {"tcp_info.csv: No space left: TCP_INFO is kept until here"}


def test_a_receiver_that_may_not_record_is_reported_and_the_run_goes_on(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.accepted = dataclasses.replace(far_side.accepted, capture_interface=None, capture_refusal="no right")
    sending = Sending(new_run(settings=dataclasses.replace(QUICK, capture=False), begun=False), far_side)
    assert sending.run() == 0
    assert sending.display.notices == ["the receiver records no packets: no right"]
    assert sending.display.views[0].capture == "packets are not recorded"
    assert sending.state["receiver"]["capture"] is None
    assert sending.state["sender"]["capture"] is None


def test_the_receiver_is_asked_for_what_the_order_says(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    folder = new_run(settings=dataclasses.replace(QUICK, snaplen=96), begun=False)
    Sending(folder, far_side, receiver_capture=False).run()
    assert (far_side.opened[0].capture, far_side.opened[0].capture_snaplen) == (False, 96)


@pytest.mark.parametrize(
    ("transfer", "reason"),
    [
        (TransferPlan(3 << 20), "entry I_0, data: 3 MiB, and the receiver allows 1 MiB"),
        (TransferPlan(1, streams=3), "entry I_0, data: 3 streams, and the receiver allows 2"),
        (TransferPlan(1, tls=True), "entry I_0, data: TLS, which the receiver cannot do"),
    ],
)
def test_a_plan_beyond_the_receivers_limits_does_not_begin(plan: Plan, transfer: TransferPlan, reason: str) -> None:
    accepted = dataclasses.replace(FakeFarSide().accepted, limits=Limits(1 << 20, 1 << 30, 60.0, 3600.0, 2))
    check_limits(plan, accepted)
    entry = dataclasses.replace(plan.entries[0], data=transfer)
    with pytest.raises(SenderError, match=reason):
        check_limits(dataclasses.replace(plan, entries=(entry,)), accepted)


@pytest.mark.parametrize("transfer_bytes", [1 << 20, 1 << 30])
def test_a_plan_as_large_as_the_receivers_limits_begins(plan: Plan, transfer_bytes: int) -> None:
    limits = Limits(transfer_bytes, 1 << 20, 60.0, 3600.0, 2)
    accepted = dataclasses.replace(FakeFarSide().accepted, limits=limits, tls=True)
    data = TransferPlan(1 << 20, streams=2, tls=True)
    check_limits(dataclasses.replace(plan, entries=(dataclasses.replace(plan.entries[0], data=data),)), accepted)
