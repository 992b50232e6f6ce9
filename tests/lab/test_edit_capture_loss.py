"""Frames that the capture missed are the capture's loss, and never the path's."""

from __future__ import annotations

import pytest

from tests.cut import cut
from tests.lab.clean_captures import (
    LOSSLESS,
    LOSSLESS_BESIDE_SENDER,
    LOSSY,
    LOSSY_BESIDE_SENDER,
    LOSSY_ELSEWHERE,
    clean_capture,
)
from tests.lab.edited import analyzed, bulk, directions, judged, quality, total
from tests.lab.plain_measurements import hidden_ends, unseen_acknowledged_bytes
from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.editor import Fault, edit
from vmtrace.lab.edit.frames_chosen import data, pure_acks
from vmtrace.lab.edit.missing import DropBursts, DropChosen, DropFrames
from vmtrace.lab.edit.segment import FIN, segments_of

FAULTS = {
    "data": DropFrames(0.05, data),
    "acks": DropFrames(0.05, pure_acks),
    "any": DropFrames(0.05),
    "short bursts": DropBursts(3, 8),
    "long bursts": DropBursts(2, 30),
}
each_seed = pytest.mark.parametrize("seed", cut([1, 2, 3], 1))


def unseen_bytes(capture: Capture) -> int:
    return int(quality(analyzed(capture))["unseen_acked_bytes"])


each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())


@each_fault
@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
@each_seed
def test_unseen_bytes_are_the_payload_of_missing_frames_that_was_acknowledged(
    name: str, fault: Fault, seed: int
) -> None:
    clean = clean_capture(name)
    done = edit(clean, fault, seed=seed)
    unseen, expected = unseen_bytes(done.capture), unseen_acknowledged_bytes(done.capture, clean)
    assert expected <= unseen <= expected + hidden_ends(done.capture, clean)


def test_unseen_bytes_of_a_transfer_without_retransmissions_are_those_of_the_data_frames_dropped() -> None:
    clean = clean_capture("window-limited.pcap")
    done = edit(clean, DropFrames(0.05, data))
    payload = {frame.number: segment for frame, segment in zip(clean.frames, segments_of(clean), strict=True)}
    dropped = [payload[number] for number in done.truth.dropped]
    expected = sum(segment.payload_bytes for segment in dropped if segment is not None)
    assert unseen_bytes(done.capture) == expected > 10_000


@pytest.mark.parametrize("name", ["made", "made-at-receiver", "window-limited.pcap"])
def test_a_missing_fin_is_no_missing_byte(name: str) -> None:
    clean = clean_capture(name)
    ends = DropFrames(1.0, lambda segment: bool(segment.flags & FIN) and not segment.payload_bytes)
    first = edit(clean, DropChosen(frozenset({edit(clean, ends).truth.dropped[0]}))).capture
    assert unseen_bytes(first) == unseen_bytes(edit(clean, ends).capture) == 0


@each_fault
@pytest.mark.parametrize("name", LOSSLESS)
@each_seed
def test_nothing_lost_stays_nothing_lost(name: str, fault: Fault, seed: int) -> None:
    document = analyzed(edit(clean_capture(name), fault, seed=seed).capture)
    for count in ("retransmitted_segments", "spurious_segments", "reordered_segments", "lost_segments_inferred"):
        assert total(document, count) == 0, count
    assert quality(document)["duplicates"] == 0
    assert quality(document)["reordered"] == 0


@each_fault
@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
def test_each_frame_that_is_left_is_judged_as_in_the_clean_capture(name: str, fault: Fault) -> None:
    clean = clean_capture(name)
    kinds = {frame.number: frame.kind for frame in judged(clean)}
    left = judged(edit(clean, fault).capture)
    assert left
    assert [frame for frame in left if frame.kind != kinds[frame.number]] == []


@each_fault
@pytest.mark.parametrize("name", [*LOSSLESS_BESIDE_SENDER, *LOSSY_BESIDE_SENDER[:2], *LOSSY_ELSEWHERE])
def test_a_caveat_stands_where_more_than_a_thousandth_is_missing_and_nowhere_else(name: str, fault: Fault) -> None:
    clean = clean_capture(name)
    done = edit(clean, fault)
    way = bulk(analyzed(done.capture))
    missing = unseen_acknowledged_bytes(done.capture, clean)
    assert way["loss"].get("caveat") == ("capture_loss" if missing * 1000 > way["unique_payload_bytes"] else None)


def test_a_clean_capture_has_no_caveat() -> None:
    for name in LOSSLESS + LOSSY:
        assert {way["loss"].get("caveat") for way in directions(analyzed(clean_capture(name)))} == {None}


@pytest.mark.parametrize(
    "fault",
    [DropFrames(0.01, data), DropFrames(0.01, pure_acks), DropBursts(2, 4)],
    ids=["data", "acks", "bursts"],
)
@pytest.mark.parametrize("name", LOSSLESS_BESIDE_SENDER + LOSSY_BESIDE_SENDER[:2])
@each_seed
def test_round_trips_stay_within_1_percent_or_a_tenth_of_a_millisecond(name: str, fault: Fault, seed: int) -> None:
    clean = bulk(analyzed(clean_capture(name)))["rtt"]
    left = bulk(analyzed(edit(clean_capture(name), fault, seed=seed).capture))["rtt"]
    for statistic in ("min_s", "mean_s", "median_s"):
        assert left[statistic] == pytest.approx(clean[statistic], rel=0.01, abs=1e-4), statistic


@each_fault
@pytest.mark.parametrize("name", [*LOSSLESS_BESIDE_SENDER, "window-limited-at-receiver"])
def test_no_round_trip_is_taken_that_the_clean_capture_does_not_have(name: str, fault: Fault) -> None:
    clean = clean_capture(name)
    trips = {frame.number: frame.rtt_s for frame in judged(clean)}
    left = [frame for frame in judged(edit(clean, fault).capture) if frame.rtt_s is not None]
    assert len(left) > 20
    assert [frame for frame in left if frame.rtt_s != pytest.approx(trips[frame.number])] == []
