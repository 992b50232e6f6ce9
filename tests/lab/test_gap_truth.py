"""Gaps that an analyzer names are compared with what stood still."""

from __future__ import annotations

from vmtrace.lab.accuracy.gap_causes import gaps, transfers
from vmtrace.lab.accuracy.gap_truth import Event, Gap, Place, Score, Truth, label, table

MS = 1_000_000


def gap(start_ms: int, end_ms: int, cause: str) -> Gap:
    return Gap(start_ms * MS, end_ms * MS, cause, 0.9)


STALL = Event(100 * MS, 300 * MS, Truth.SENDER_HOST)


def test_a_gap_is_named_after_what_stalled_for_most_of_it() -> None:
    assert label(gap(90, 310, "unknown"), [STALL]) is Truth.SENDER_HOST
    assert label(gap(250, 600, "unknown"), [STALL]) is Truth.NOTHING
    assert label(gap(400, 600, "unknown"), [STALL], Truth.APPLICATION) is Truth.APPLICATION


def test_a_stall_told_where_none_was_is_false_wherever_the_capture_stands() -> None:
    for cause, false in (("local_host_stall", 1), ("remote_host_stall", 1), ("host_or_path", 0)):
        score = Score.empty()
        score.add(Place.SENDER, [gap(400, 600, cause)], [STALL], Truth.NOTHING)
        assert len(score.false_stalls) == false


def test_the_stall_of_the_wrong_host_does_not_name_the_event() -> None:
    score = Score.empty()
    score.add(Place.SENDER, [gap(100, 300, "remote_host_stall")], [STALL], Truth.NOTHING)
    score.add(Place.RECEIVER, [gap(100, 300, "remote_host_stall")], [STALL], Truth.NOTHING)
    assert (score.events[Truth.SENDER_HOST], score.named[Truth.SENDER_HOST]) == (2, 1)


def test_an_event_may_be_left_open_and_one_without_data_under_way_does_not_count() -> None:
    score = Score.empty()
    score.add(
        Place.RECEIVER, [gap(110, 310, "host_or_path")], [STALL, Event(900 * MS, 950 * MS, Truth.PATH)], Truth.NOTHING
    )
    assert (score.events[Truth.SENDER_HOST], score.undecided[Truth.SENDER_HOST], score.events[Truth.PATH]) == (1, 1, 0)
    assert "0 of 1, 1 left open" in table(score)


def test_gaps_are_those_of_the_data_sender() -> None:
    def way(cause: str) -> dict[str, object]:
        return {"spacing": {"anomalies": [{"start_ns": 5, "gap_s": 1e-9, "cause": cause, "confidence": 0.5}]}}

    connection = {"client": "198.18.1.1:4", "client_to_server": way("timeout"), "server_to_client": way("unknown")}
    assert gaps({"connections": [connection]}, "198.18.1.1") == [Gap(5, 6, "timeout", 0.5)]
    assert gaps({"connections": [connection]}, "198.18.2.1") == [Gap(5, 6, "unknown", 0.5)]


def test_the_transfers_cover_both_ends_of_a_guest_both_kinds_of_holds_and_pauses_without_stalls() -> None:
    names = transfers(1)
    for part in (
        "guest-sends",
        "guest-receives",
        "hold-both",
        "hold-forward",
        "blackout-",
        "app-pauses",
        "reader-pauses",
        "clean",
    ):
        assert any(name.startswith(part) for name in names)
