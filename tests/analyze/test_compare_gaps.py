"""Pauses are located by what both ends show, on transfers in which who made them is known."""

import numpy as np
import pytest

from tests.analyze.two_ends import Path, pcap, transfer
from vmtrace.analyze.compare.comparison import compare
from vmtrace.analyze.compare.gaps import End, Location, Reason, locate
from vmtrace.analyze.trace import read


def located(path: Path) -> list[tuple[str, str]]:
    made = transfer(path)
    done = compare(read(pcap(made.sender)), read(pcap(made.receiver)))
    assert done.total[1].gaps == ()
    return [(gap.location.value, gap.reason.value) for gap in done.total[0].gaps]


def test_an_even_transfer_has_no_gap() -> None:
    assert located(Path()) == []


def test_a_pause_of_the_sender_is_the_senders() -> None:
    assert located(Path(pauses=((100, 0.3), (250, 0.08)))) == [("sender", "sender_paused")] * 2


def test_a_gap_tells_how_long_it_was_at_both_ends_and_where_to_look() -> None:
    made = transfer(Path(pauses=((100, 0.3),)))
    (gap,) = compare(read(pcap(made.sender)), read(pcap(made.receiver))).total[0].gaps
    assert [gap.sender_gap_s, gap.receiver_gap_s] == pytest.approx([0.301, 0.301])
    assert gap.sender_frames is not None
    before, after = (made.sender[frame - 1][0] for frame in gap.sender_frames)
    assert (gap.start_ns, after - before) == (before, 301_000_000)


def test_packets_that_the_path_held_and_let_out_at_its_rate_were_held_by_the_path() -> None:
    assert located(Path(held=((0.2, 0.35, 0.0009),))) == [("path", "held_and_released_at_path_rate")]


def test_packets_that_came_at_once_where_the_paths_rate_is_not_known_may_have_been_held_by_either() -> None:
    assert located(Path(held=((0.2, 0.35, 0.00001),))) == [("path_or_receiver", "held")]


def test_arrivals_pause_where_packets_are_lost() -> None:
    assert located(Path(lost=frozenset(range(100, 180)))) == [("path", "segments_lost")]


def ends(arrivals_ms: list[float], *, answers_ms: tuple[float, ...] = ()) -> tuple[End, End]:
    """Data sent in bursts of 20 every 20 ms, arriving as told; `answers_ms` is when the receiver sends packets."""
    sent_ms = np.array([20.0 * (number // 20) + 0.0001 * (number % 20) for number in range(len(arrivals_ms))])
    come_ms = np.array([*arrivals_ms, *answers_ms])
    order = np.argsort(come_ms, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    count, all_there = len(sent_ms), len(come_ms)

    def end(times_ms: np.ndarray, elsewhere: np.ndarray, delay_ms: np.ndarray, outward: np.ndarray) -> End:
        size = np.where(outward, 1000, 0)
        none = np.zeros(len(times_ms), np.bool_)
        frames = np.arange(1, len(times_ms) + 1)
        return End(
            (times_ms * 1e6).astype(np.int64), frames, size, elsewhere, delay_ms / 1e3, outward, none, frames * 1000
        )

    delay_ms = np.array(arrivals_ms) - sent_ms
    near = end(sent_ms, place[:count], delay_ms, np.ones(count, np.bool_))
    elsewhere = np.where(order < count, order, -1)
    there = np.append(delay_ms, np.full(all_there - count, np.nan))[order]
    return near, end(come_ms[order], elsewhere, there, order < count)


# The path lets out one packet each millisecond.
SPREAD = [10.0 + number for number in range(800)]


def test_packets_that_a_host_found_all_at_once_were_held_by_it() -> None:
    stalled = [298.5 + number * 0.001 if 150 <= come < 299 else come for number, come in enumerate(SPREAD)]
    gaps = locate(*ends(stalled), None, 0.05)
    assert [(gap.location, gap.reason) for gap in gaps] == [(Location.RECEIVER, Reason.HELD_AT_ONCE)]


def test_a_host_that_sends_meanwhile_did_not_hold_them() -> None:
    stalled = [298.5 + number * 0.001 if 150 <= come < 299 else come for number, come in enumerate(SPREAD)]
    gaps = locate(*ends(stalled, answers_ms=(200.0, 250.0)), None, 0.05)
    assert [(gap.location, gap.reason) for gap in gaps] == [(Location.PATH, Reason.HELD_RECEIVER_AWAKE)]
