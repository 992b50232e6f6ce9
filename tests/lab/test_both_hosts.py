"""Captures of both hosts of real transfers in one file: each packet counts once, however far the clocks are apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.lab.clean_captures import clean_capture
from tests.lab.edited import Record, analyzed, bulk, quality
from vmtrace.lab.edit.capture import Capture, Frame
from vmtrace.lab.edit.segment import segments_of

SECOND = 1_000_000_000
BOTH_ENDS = [
    ("lossy-sender.pcap", "lossy-receiver.pcap"),
    ("window-limited.pcap", "window-limited-at-receiver"),
    ("made-ipv6", "made-ipv6-at-receiver"),
]
OFFSETS_S = [0.0, 0.0005, -0.002, 0.03, -0.08, 0.14, 0.3, 1.0, 60.0, 7200.0, -0.4, -60.0, -7200.0]
COUNTS = ("retransmitted_segments", "spurious_segments", "reordered_segments")


def both(sender: Capture, receiver: Capture, ahead_ns: int, *, by_time: bool = True) -> Capture:
    """The receiver's clock is `ahead_ns` ahead; `by_time` as mergecap does it, else as with its option -a."""
    later = [replace(frame, time_ns=frame.time_ns + ahead_ns) for frame in receiver.frames]
    frames = [*sender.frames, *later]
    if by_time:
        frames.sort(key=lambda frame: frame.time_ns)
    numbered: list[Frame] = [replace(frame, number=number) for number, frame in enumerate(frames, 1)]
    return sender.with_frames(numbered)


def numbers(document: Record) -> list[object]:
    """What the clocks must not change."""
    found = bulk(document)
    return [
        len(document["connections"]),
        found["unique_payload_bytes"],
        found["packets"],
        *(found["loss"][name] for name in COUNTS),
        found["rtt"]["samples"],
    ]


@pytest.mark.parametrize("names", BOTH_ENDS, ids=lambda names: names[0])
def test_clocks_that_differ_change_no_number(names: tuple[str, str]) -> None:
    sender, receiver = map(clean_capture, names)
    alone = analyzed(sender)
    assert "clock_offset_s" not in quality(alone)
    for ahead_s in OFFSETS_S:
        found = analyzed(both(sender, receiver, round(ahead_s * SECOND)))
        assert numbers(found) == numbers(alone), ahead_s
        assert quality(found)["clock_offset_s"] == pytest.approx(ahead_s, abs=0.03), ahead_s


@pytest.mark.parametrize("names", BOTH_ENDS, ids=lambda names: names[0])
@pytest.mark.parametrize("ahead_s", [0.0, 0.3, 7200.0, -7200.0])
def test_captures_may_stand_one_behind_the_other(names: tuple[str, str], ahead_s: float) -> None:
    sender, receiver = map(clean_capture, names)
    found = analyzed(both(sender, receiver, round(ahead_s * SECOND), by_time=False))
    assert numbers(found) == numbers(analyzed(sender))
    assert quality(found)["clock_offset_s"] == pytest.approx(ahead_s, abs=0.03)
    assert quality(found)["clock_steps"] == 0


@pytest.mark.parametrize("name", ["lossy-sender.pcap", "made", "window-limited.pcap"])
def test_one_direction_alone_is_named_and_lacks_nothing(name: str) -> None:
    clean = clean_capture(name)
    sources = [segment.source for segment in segments_of(clean) if segment]
    for source in set(sources):
        kept = [
            frame
            for frame, segment in zip(clean.frames, segments_of(clean), strict=True)
            if segment and segment.source == source
        ]
        found = quality(analyzed(clean.with_frames(kept)))
        assert found["one_direction_connections"] == 1
        assert found["unseen_acked_bytes"] is None
    assert "one_direction_connections" not in quality(analyzed(clean))
