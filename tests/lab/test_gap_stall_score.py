"""Precision and recall for stalls that outlast the sender's probe, counted as the demand says."""

from __future__ import annotations

from dataclasses import replace

from tests import golden_texts
from vmtrace.lab.accuracy.gap_stall_score import SenderState, StallTally, state_before, states, table
from vmtrace.lab.accuracy.gap_truth import Event, Gap, Place, Truth

MS = 1_000_000
SECOND = 1000 * MS
KNOWN = [SenderState(0, 40 * MS, 20, 4 * MS), SenderState(10 * SECOND, 40 * MS, 20, 4 * MS)]


def stall(start_ms: int, end_ms: int, truth: Truth = Truth.SENDER_HOST) -> Event:
    return Event(start_ms * MS, end_ms * MS, truth)


def gap(start_ms: int, end_ms: int, cause: str) -> Gap:
    return Gap(start_ms * MS, end_ms * MS, cause, 0.9, (7, 8))


def counted(gaps: list[Gap], events: list[Event], place: Place = Place.SENDER) -> StallTally:
    tally = StallTally()
    tally.add("transfer", place, gaps, events, KNOWN)
    return tally


def test_the_probe_timeout_is_that_of_rfc_8985_by_the_senders_own_round_trip() -> None:
    rows = [
        {"time_ns": 5, "rtt_us": 30_000, "unacked_segments": 9, "rto_us": 210_000, "ca_state": 0},
        {"time_ns": 9, "rtt_us": 50_000, "unacked_segments": 1, "rto_us": 260_000, "ca_state": 2},
        {"time_ns": 11, "rtt_us": 50_000, "unacked_segments": 9, "rto_us": 260_000, "ca_state": 3},
    ]
    known = states(rows)
    assert [state.probe_timeout_ns for state in known] == [60 * MS, 300 * MS, 100 * MS]
    # Three ticks of 10 ms more; in loss recovery there is no probe but the retransmission timeout.
    assert [state.probe_timer_ns for state in known] == [90 * MS, 330 * MS, 290 * MS]
    assert state_before(known, 8) is known[0]
    assert state_before(known, 4) is None


def test_only_a_stall_that_outlasts_the_probe_must_be_told() -> None:
    shown = counted([gap(99, 301, "local_host_stall")], [stall(100, 300), stall(1000, 1079)])
    assert (shown.real, shown.found, shown.shorter, shown.recall, shown.precision) == (1, 1, 1, 1.0, 1.0)
    missed = counted([gap(99, 301, "host_or_path")], [stall(100, 300)])
    assert (missed.recall, missed.precision) == (0.0, None)
    golden_texts.check("only-a-stall-that-outlasts-the-probe-must-be-told", str(missed.missed[0]))


def test_a_stall_that_the_kernels_timer_outlasted_is_counted_apart() -> None:
    tally = counted([gap(999, 1201, "local_host_stall")], [stall(100, 190), stall(1000, 1200)])
    assert (tally.real, tally.found, tally.past_timer, tally.past_timer_found) == (2, 1, 1, 1)
    assert (tally.recall, tally.past_timer_recall) == (0.5, 1.0)


def test_the_other_hosts_stall_is_neither_right_nor_found() -> None:
    tally = counted([gap(100, 300, "remote_host_stall")], [stall(100, 300)])
    assert (tally.found, tally.right, len(tally.false_alarms)) == (0, 0, 1)
    assert "false: transfer, remote_host_stall 200 ms" in str(tally.false_alarms[0])


def test_away_from_the_host_its_stall_shows_up_to_a_round_trip_later() -> None:
    for start_ms, right in ((135, 1), (260, 0)):
        tally = counted([gap(start_ms, start_ms + 190, "remote_host_stall")], [stall(100, 300)], Place.RECEIVER)
        assert (tally.right, tally.found) == (right, right)


def test_what_was_no_part_of_the_transfer_is_not_counted() -> None:
    assert counted([], [stall(11_000, 12_000)]).real == 0


def test_a_stall_after_which_nothing_was_sent_any_more_held_no_data_up() -> None:
    known = [replace(state, sent_bytes=sent) for state, sent in zip(KNOWN, (900, 5000), strict=True)]
    known.append(replace(KNOWN[1], time_ns=11 * SECOND, sent_bytes=5000))
    tally = StallTally()
    tally.add("transfer", Place.SENDER, [], [stall(100, 300), stall(10_500, 10_900)], known)
    assert tally.real == 1


def test_the_table_has_a_row_for_each_place_and_no_share_of_nothing() -> None:
    text = table(
        {"no stall, at the sender": StallTally(), "sender host, at the sender": counted([], [stall(100, 300)])}
    )
    golden_texts.check("the-table-has-a-row-for-each-place-and-no-share-of-nothing", text)
