"""A campaign goes on through everything but its user's wish to end, and marks what failed."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.sender.fakes import FakeFarSide, FakeInstruments, FastInterruption, endless, raising
from vmtrace.capture.campaign import COMPLETE, FAILED, INTERRUPTED, End
from vmtrace.capture.settings import CaptureSettings
from vmtrace.formats import durable
from vmtrace.sender.baseline import Baseline
from vmtrace.sender.campaign import Campaign
from vmtrace.sender.display.view import Display
from vmtrace.sender.link import Link
from vmtrace.sender.ping import Echo
from vmtrace.sender.plan import Entry, Plan, TransferPlan
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.settings import Settings
from vmtrace.sender.transfers import Transfers
from vmtrace.sender.wire.errors import KeyRefused, ReceiverGone, ReceiverRefused, VersionMismatch
from vmtrace.sender.wire.records import Limits, RunRequest

NewRun = Callable[..., RunFolder]
AWAY = ReceiverGone("there: connection lost")


class Setting:
    """A campaign on fakes, and what came of it."""

    def __init__(self, folder: RunFolder, far_side: FakeFarSide, instruments: FakeInstruments | None = None) -> None:
        self.folder = folder
        self.far_side = far_side
        self.interruption = FastInterruption()
        self.display = Listening()
        link = Link(far_side, lambda: RunRequest(folder.run_id), self.interruption)
        capture = None if instruments is None else CaptureSettings("lo", buffer_bytes=4 << 20)
        transfers = Transfers(far_side, link, instruments or FakeInstruments(), folder, capture, self.interruption)
        self.campaign = Campaign(folder, link, transfers.run, None, self.display, self.interruption)

    def run(self) -> End:
        with self.interruption:
            return self.campaign.run()

    def lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder.path / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def pairs(self) -> list[dict[str, Any]]:
        return self.lines("pairs.jsonl")


class Listening(Display):
    """Remembers how long each next attempt was put off."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []

    def attempt_failed(self, step: Any, attempt: int, error: str, wait_s: float) -> None:  # noqa: ARG002
        self.waits_s.append(wait_s)


def test_every_pair_of_the_plan_is_done_once_and_in_order(new_run: NewRun) -> None:
    setting = Setting(new_run(), FakeFarSide())
    assert setting.run() == End(COMPLETE, None)
    assert [(pair["sequence"], pair["index"], pair["pair"]) for pair in setting.pairs] == [
        (1, "I_0", 1),
        (2, "I_0", 2),
        (3, "I_1", 1),
    ]
    assert [(request.part, request.bytes) for request in setting.far_side.requests] == [
        ("probe", 10),
        ("data", 100),
        ("probe", 10),
        ("data", 100),
        ("probe", 20),
        ("data", 200),
    ]
    assert setting.pairs[0]["data"]["goodput_bps"] == 800
    assert setting.interruption.slept == pytest.approx([0.5, 0.5], abs=0.01)


def test_the_idle_time_after_the_last_pair_is_left_out_and_the_receiver_hears_of_us_in_the_others(
    new_run: NewRun, plan: Plan
) -> None:
    setting = Setting(new_run(plan.scaled(1)), FakeFarSide())
    setting.run()
    assert setting.far_side.kept_alive == 2


def test_a_connection_that_breaks_while_idle_is_made_anew(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.keep_alive_error = AWAY
    setting = Setting(new_run(), far_side)
    assert setting.run().status == COMPLETE
    assert far_side.connected == 3
    assert setting.lines("attempts.jsonl") == []


def test_a_network_that_goes_and_comes_back_costs_attempts_but_no_pair(new_run: NewRun) -> None:
    far_side = FakeFarSide([None, None, None, raising(AWAY)])

    def go_away(far_side: FakeFarSide) -> None:
        far_side.refusals = [ReceiverGone(f"refused {number}") for number in range(7)]
        raise AWAY

    far_side.troubles = [None, None, None, go_away]
    setting = Setting(new_run(), far_side)
    assert setting.run() == End(COMPLETE, None)
    assert [(pair["sequence"], pair["attempts"], pair["status"]) for pair in setting.pairs] == [
        (1, 1, COMPLETE),
        (2, 9, COMPLETE),
        (3, 1, COMPLETE),
    ]
    assert setting.display.waits_s == [1, 2, 4, 8, 16, 30, 30, 30]
    attempts = setting.lines("attempts.jsonl")
    assert [attempt["attempt"] for attempt in attempts] == list(range(1, 9))
    assert attempts[0]["error"] == str(AWAY)
    # The run is the same at the receiver.
    assert {request.run_id for request in far_side.opened} == {"0" * 32}


def test_a_receiver_that_stays_away_too_long_interrupts_the_run_which_can_go_on(new_run: NewRun) -> None:
    far_side = FakeFarSide([None, None, raising(AWAY)])
    folder = new_run(settings=Settings(ping=False, patience_s=0.0))
    setting = Setting(folder, far_side)
    assert setting.run() == End(INTERRUPTED, f"given up: {AWAY}")
    assert len(setting.pairs) == 1
    again = Setting(folder, FakeFarSide())
    assert again.run().status == COMPLETE
    assert [pair["sequence"] for pair in again.pairs] == [1, 2, 3]


def test_a_pair_that_arrives_wrongly_is_tried_again(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.verified = [True, False]
    setting = Setting(new_run(), far_side)
    assert setting.run().status == COMPLETE
    assert [pair["attempts"] for pair in setting.pairs] == [2, 1, 1]
    assert "digests differ" in setting.lines("attempts.jsonl")[0]["error"]


@pytest.mark.parametrize("refused", ["digest", "refused", "option"])
def test_a_pair_that_fails_each_time_is_marked_and_the_campaign_goes_on(new_run: NewRun, refused: str) -> None:
    far_side = FakeFarSide()
    if refused == "digest":
        far_side.verified = [False] * 3
    else:
        error = ReceiverRefused("there: too many bytes")
        far_side.troubles = [raising(error if refused == "refused" else OSError(errno.ENOENT, "no such algorithm"))] * 3
    setting = Setting(new_run(settings=Settings(ping=False, attempts=3)), far_side)
    assert setting.run().status == COMPLETE
    first, second, third = setting.pairs
    assert (first["status"], first["attempts"], first["probe"]) == (FAILED, 3, None)
    assert first["error"]
    assert (second["status"], third["status"]) == (COMPLETE, COMPLETE)
    assert setting.folder.failed == 1


@pytest.mark.parametrize("error", [KeyRefused("there: wrong key"), VersionMismatch("there: speaks version 2")])
def test_a_receiver_that_will_never_take_us_ends_the_run(new_run: NewRun, error: Exception) -> None:
    setting = Setting(new_run(), FakeFarSide([None, None, raising(error)]))
    assert setting.run() == End(FAILED, str(error))
    assert len(setting.pairs) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_pair_in_flight_and_keeps_the_others(new_run: NewRun, number: int) -> None:
    def ask(_far_side: FakeFarSide) -> None:
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    setting = Setting(new_run(), FakeFarSide([None, None, None, ask]))
    ended = setting.run()
    assert (ended.status, ended.by_signal) == (INTERRUPTED, True)
    assert [pair["sequence"] for pair in setting.pairs] == [1]
    assert [(attempt["sequence"], attempt["attempt"]) for attempt in setting.lines("attempts.jsonl")] == [(2, 1)]
    assert signal.getsignal(number) is before


def test_a_signal_while_a_capture_is_being_closed_waits_until_it_is_closed(new_run: NewRun) -> None:
    class Asking(FakeInstruments):
        def start_capture(self, settings: CaptureSettings, path: Any) -> Any:
            os.kill(os.getpid(), signal.SIGINT)
            return super().start_capture(settings, path)

    setting = Setting(new_run(), FakeFarSide(), Asking())
    assert setting.run().by_signal
    assert setting.far_side.requests[-1].part == "probe"


def test_a_capture_that_does_not_start_or_ends_early_marks_its_transfer_and_nothing_else(new_run: NewRun) -> None:
    setting = Setting(new_run(), FakeFarSide(), FakeInstruments(["no start", "the disk is full"]))
    assert setting.run() == End(COMPLETE, None)
    first = setting.pairs[0]
    assert first["probe"]["capture"]["sender_error"] == "there is no interface eth9"
    assert first["probe"]["capture"]["sender_dropped"] is None
    assert first["probe"]["capture"]["sender_file"] is None
    assert first["data"]["capture"]["sender_error"] == "the disk is full"
    assert first["data"]["capture"]["sender_file"] == "packets/sender/0001-data.pcap"
    assert setting.pairs[1]["probe"]["capture"]["sender_error"] is None
    assert setting.campaign.tally.capture_errors == 2


def test_a_drop_at_the_sender_doubles_the_buffer_of_the_captures_after_it(new_run: NewRun) -> None:
    instruments = FakeInstruments([0, 7, 3])
    setting = Setting(new_run(), FakeFarSide(), instruments)
    setting.run()
    assert [settings.buffer_bytes for settings in instruments.settings] == [
        size << 20 for size in (4, 4, 8, 16, 16, 16)
    ]
    first, second, _ = setting.pairs
    assert first["data"]["capture"]["sender_dropped"] == 7
    assert second["probe"]["capture"]["sender_buffer_bytes"] == 8 << 20
    assert setting.campaign.tally.dropped["sender"] == 10


def test_a_drop_at_the_receiver_doubles_the_buffer_that_it_is_asked_for(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.dropped = [5, 0, 1]
    setting = Setting(new_run(), far_side, FakeInstruments())
    setting.run()
    sizes = [request.capture_buffer_bytes for request in far_side.requests]
    assert sizes == [None, 8 << 20, 8 << 20, 16 << 20, 16 << 20, 16 << 20]
    assert setting.campaign.tally.dropped["receiver"] == 6


def test_a_buffer_that_was_asked_for_is_that_of_both_ends_until_one_drops(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.dropped = [0, 2]
    Setting(new_run(settings=Settings(ping=False, capture_buffer_bytes=4 << 20)), far_side, FakeInstruments()).run()
    assert [request.capture_buffer_bytes for request in far_side.requests[:4]] == [size << 20 for size in (4, 4, 8, 8)]


def test_the_captures_filter_holds_the_data_connections_alone(new_run: NewRun) -> None:
    instruments = FakeInstruments()
    Setting(new_run(), FakeFarSide(), instruments).run()
    assert instruments.settings[0].filter == "tcp and host 198.18.2.1 and port 5810 and not port 40000"


def test_a_session_is_renewed_before_its_limits_would_end_it(new_run: NewRun) -> None:
    far_side = FakeFarSide()
    far_side.accepted = _limited(far_side, session_bytes=230)
    setting = Setting(new_run(), far_side)
    assert setting.run().status == COMPLETE
    assert far_side.connected > 1
    assert setting.lines("attempts.jsonl") == []


def test_a_run_limited_by_time_ends_after_the_pair_that_crosses_it(new_run: NewRun, plan: Plan) -> None:
    folder = new_run(endless(plan, 3.0))

    def take_long(_far_side: FakeFarSide) -> None:
        time.sleep(max(0.0, 3.01 - folder.elapsed_s))

    setting = Setting(folder, FakeFarSide([None] * 9 + [take_long]))
    assert setting.run() == End(COMPLETE, None)
    assert [pair["repeat"] for pair in setting.pairs] == [1, 1, 1, 2, 2]


def test_a_disk_that_is_full_ends_the_run_with_one_line_and_a_valid_folder(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vmtrace.sender.run_folder

    folder = new_run()

    def append_line(path: Any, text: str) -> None:
        if folder.finished == 1:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        durable.append_line(path, text)

    monkeypatch.setattr(vmtrace.sender.run_folder, "append_line", append_line)
    setting = Setting(folder, FakeFarSide())
    assert setting.run() == End(FAILED, f"{folder.path / 'pairs.jsonl'}: No space left on device")
    assert len(setting.pairs) == 1


def test_a_disk_that_is_nearly_full_is_reported_before_a_pair_begins(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vmtrace.sender.campaign

    monkeypatch.setattr(vmtrace.sender.campaign, "_LEAST_FREE_BYTES", 1 << 62)
    setting = Setting(new_run(), FakeFarSide())
    ended = setting.run()
    assert ended.status == FAILED
    assert "the disk is nearly full: make room" in (ended.error or "")
    assert setting.far_side.requests == []


def test_a_step_of_the_clock_marks_its_pair(new_run: NewRun, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmtrace.capture.clock import ClockStep

    setting = Setting(new_run(), FakeFarSide())
    looks = iter([None, None, None, ClockStep(-1.5, 1e-6, 9)])
    monkeypatch.setattr(setting.campaign._clock, "look", lambda: next(looks, None))
    setting.run()
    assert [pair["clock_step_s"] for pair in setting.pairs] == [None, -1.5, None]


def test_the_baseline_before_a_pair_is_in_its_record(new_run: NewRun) -> None:
    class Steady:
        method = "icmp"

        def echo(self) -> Echo:
            return Echo(1, 0.02)

        def close(self) -> None:
            pass

    setting = Setting(new_run(), FakeFarSide())
    setting.campaign._baseline = Baseline(Steady, Steady, setting.folder, setting.interruption, 0.2)
    setting.run()
    assert [pair["rtt"]["sent"] for pair in setting.pairs] == [10, 3, 3]
    assert setting.pairs[0]["rtt"] == {
        "method": "icmp",
        "sent": 10,
        "lost": 0,
        "min_s": 0.02,
        "mean_s": pytest.approx(0.02),
        "max_s": 0.02,
    }
    assert [line["pair"] for line in setting.lines("ping.jsonl")] == [1] * 10 + [2] * 3 + [3] * 3


def _limited(far_side: FakeFarSide, **limits: Any) -> Any:
    import dataclasses

    return dataclasses.replace(far_side.accepted, limits=dataclasses.replace(far_side.accepted.limits, **limits))


@pytest.mark.slow
def test_memory_stays_flat_over_thousands_of_pairs(
    new_run: NewRun, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses
    import gc
    import tracemalloc

    import vmtrace.sender.run_folder

    # What the disk does takes no memory, and a lot of time.
    monkeypatch.setattr(vmtrace.sender.run_folder, "append_line", lambda *_: None)
    monkeypatch.setattr(vmtrace.sender.run_folder, "write_run_state", lambda *_: None)
    setting = Setting(new_run(dataclasses.replace(plan, repeat=350)), FakeFarSide())
    sizes: list[int] = []

    class Weighing(Display):
        def pair_finished(self, record: dict[str, Any]) -> None:
            # What the fake receiver remembers is not the campaign's.
            setting.far_side.requests.clear()
            setting.interruption.slept.clear()
            if record["sequence"] in {100, 1000}:
                gc.collect()
                # The interpreter's own tables (of interned words) grow by leaps at times that no campaign decides.
                own = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/sender/*")])
                sizes.append(sum(trace.size for trace in own.traces))

    setting.campaign._display = Weighing()
    tracemalloc.start()
    try:
        assert setting.run().status == COMPLETE
    finally:
        tracemalloc.stop()
    # A pair is a few numbers of eight bytes.
    assert sizes[1] - sizes[0] < 900 * 100


def test_a_plan_that_fills_its_time_sizes_each_data_transfer_by_the_one_before(new_run: NewRun) -> None:
    entry = Entry("quick", 1, TransferPlan(10), TransferPlan(100))
    plan = Plan("quick", (entry,), repeat=None, duration_s=3.0, fill=True)
    far_side = FakeFarSide()  # whose every transfer takes a second
    setting = Setting(new_run(plan), far_side)
    assert setting.run() == End(COMPLETE, None)
    assert [request.bytes for request in far_side.requests if request.part == "data"] == [100, 200, 200]


def test_a_transfer_that_fills_a_time_grows_by_no_more_than_one_before_can_say(new_run: NewRun) -> None:
    entry = Entry("quick", 1, TransferPlan(10), TransferPlan(100, "both"))
    plan = Plan("quick", (entry,), repeat=None, duration_s=1000.0, fill=True)
    far_side = FakeFarSide([None] * 6 + [raising(KeyboardInterrupt())])
    far_side.accepted = dataclasses.replace(far_side.accepted, limits=Limits(20_000, 1 << 50, 3600.0, 1e6, 64))
    setting = Setting(new_run(plan), far_side)
    assert setting.run().status == INTERRUPTED
    assert [request.bytes for request in far_side.requests if request.part == "data"] == [100, 3200, 10_000]


def test_a_plan_that_fills_its_time_ends_where_no_pair_succeeds(new_run: NewRun) -> None:
    entry = Entry("quick", 1, TransferPlan(10), TransferPlan(100))
    plan = Plan("quick", (entry,), repeat=None, duration_s=0.001, fill=True)
    far_side = FakeFarSide([raising(ReceiverRefused("no"))] * 100)
    setting = Setting(new_run(plan), far_side)
    assert setting.run().status == COMPLETE
    assert [pair["status"] for pair in setting.pairs] == [FAILED]
