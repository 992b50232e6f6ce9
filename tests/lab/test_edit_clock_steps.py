"""A step of the capture's clock is counted, and nothing is concluded from it about the network."""

from __future__ import annotations

import pytest

from tests.lab.clean_captures import LOSSLESS, LOSSY, clean_capture
from tests.lab.edited import Record, analyzed, quality, total
from tests.lab.made_transfers import MILLISECOND
from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.clock import StepClock
from vmtrace.lab.edit.editor import edit
from vmtrace.lab.edit.header_fields import NoTimestamps
from vmtrace.lab.edit.truth import ClockStep

SECOND = 1000 * MILLISECOND
STEPS_NS = [sign * size for size in (80 * MILLISECOND, 150 * MILLISECOND, SECOND, 3600 * SECOND) for sign in (1, -1)]
JUDGEMENTS = ("retransmitted_segments", "lost_segments_inferred", "spurious_segments", "reordered_segments")


def stepped(clean: Capture, *steps: tuple[float, int]) -> Record:
    """The clock is set at these shares of the duration."""
    first_ns, last_ns = clean.frames[0].time_ns, clean.frames[-1].time_ns
    places = []
    for share, step_ns in steps:
        time_ns = first_ns + int(share * (last_ns - first_ns))
        place = next(frame.number for frame in clean.frames if frame.time_ns >= time_ns)
        places.append(ClockStep(place, step_ns))
    return analyzed(edit(clean, StepClock(tuple(places))).capture)


@pytest.mark.parametrize("step_ns", STEPS_NS, ids=lambda step_ns: f"{step_ns / 1e9:+g}s")
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
@pytest.mark.parametrize(
    "name",
    [
        "made",
        "made-ipv6",
        "made-at-receiver",
        "window-limited.pcap",
        "window-limited-at-receiver",
        "window-limited-midway",
        "zero-window.pcap",
        "application-limited.pcap",
        "lossy-sender.pcap",
        "lossy-receiver.pcap",
        "offload-sender.pcap",
    ],
)
def test_a_step_is_counted_and_moves_no_other_count(name: str, share: float, step_ns: int) -> None:
    clean = clean_capture(name)
    document, before = stepped(clean, (share, step_ns)), analyzed(clean)
    assert quality(document)["clock_steps"] == 1
    for count in JUDGEMENTS:
        assert total(document, count) == total(before, count), count
    assert quality(document) == {**quality(before), "clock_steps": 1}


@pytest.mark.parametrize(
    "steps",
    [
        ((0.3, 500 * MILLISECOND), (0.7, 500 * MILLISECOND)),
        ((0.3, 500 * MILLISECOND), (0.7, -500 * MILLISECOND)),
        ((0.3, -500 * MILLISECOND), (0.7, 500 * MILLISECOND)),
        ((0.3, -5 * SECOND), (0.7, -5 * SECOND)),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["made", "made-at-receiver"])
def test_steps_seconds_apart_are_counted_one_by_one(name: str, steps: tuple[tuple[float, int], ...]) -> None:
    assert quality(stepped(clean_capture(name), *steps))["clock_steps"] == len(steps)


@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
def test_a_clean_capture_has_no_step(name: str) -> None:
    assert quality(analyzed(clean_capture(name)))["clock_steps"] == 0


@pytest.mark.parametrize("step_ns", [30 * MILLISECOND, -30 * MILLISECOND])
@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
def test_what_a_queue_can_explain_is_no_step(name: str, step_ns: int) -> None:
    assert quality(stepped(clean_capture(name), (0.5, step_ns)))["clock_steps"] == 0


@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
def test_without_timestamps_a_step_ahead_is_a_pause(name: str) -> None:
    bare = edit(clean_capture(name), NoTimestamps()).capture
    assert quality(stepped(bare, (0.5, SECOND)))["clock_steps"] == 0
