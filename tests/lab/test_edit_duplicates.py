"""Frames that were recorded twice count once."""

from __future__ import annotations

import pytest

from tests.lab.clean_captures import LOSSLESS, LOSSY, clean_capture
from tests.lab.edited import Record, analyzed, directions, quality
from tests.lab.made_transfers import MILLISECOND
from vmtrace.lab.edit.copies import RepeatFrames
from vmtrace.lab.edit.editor import edit
from vmtrace.lab.edit.frames_chosen import data

FAULTS = {
    "every frame at once": RepeatFrames(1.0),
    "every frame within a millisecond": RepeatFrames(1.0, 100_000, MILLISECOND),
    "every frame milliseconds later": RepeatFrames(1.0, MILLISECOND, 4 * MILLISECOND),
    "both sides of a router": RepeatFrames(1.0, 20_000, 2 * MILLISECOND, hops=1),
    "a tenth of the data": RepeatFrames(0.1, choice=data),
}
# Few copies, and of acknowledgements too: only where data beside them was copied is it known that the network did not.
SOME_FAULTS = {
    "a tenth of the frames": RepeatFrames(0.1),
    "a tenth of the frames, milliseconds later": RepeatFrames(0.1, MILLISECOND, 4 * MILLISECOND),
}
ONE_CONNECTION = tuple(name for name in LOSSLESS + LOSSY if not name.startswith("short"))


def without_copies(document: Record) -> list[Record]:
    """All that copies must not change: everything but the numbers of frames in the file."""
    ways = [dict(way) for way in directions(document)]
    for way in ways:
        way["spacing"] = {key: value for key, value in way["spacing"].items() if key != "anomalies"}
        way.pop("peak_frames", None)
        way["limit_intervals"] = [{**one, "frames": None} for one in way.get("limit_intervals", ())]
    return ways


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
def test_copies_are_counted_and_change_nothing_else(name: str, fault: RepeatFrames) -> None:
    only_counts_copies(name, fault)


@pytest.mark.parametrize("fault", SOME_FAULTS.values(), ids=SOME_FAULTS.keys())
@pytest.mark.parametrize("name", ONE_CONNECTION)
def test_some_copies_are_counted_and_change_nothing_else(name: str, fault: RepeatFrames) -> None:
    only_counts_copies(name, fault)


def only_counts_copies(name: str, fault: RepeatFrames) -> None:
    clean = clean_capture(name)
    done = edit(clean, fault, seed=5)
    document = analyzed(done.capture)
    assert quality(document)["duplicates"] == len(done.truth.duplicated)
    found, expected = without_copies(document), without_copies(analyzed(clean))
    for way in cut_before_the_end(analyzed(clean)):
        # What comes late does not prolong the limits of a connection that was over: its copies keep it longer.
        for one in (found[way], expected[way]):
            one.update(limits=None, limit_intervals=None)
    assert found == expected


def cut_before_the_end(document: Record) -> list[int]:
    """Directions whose limits end before their connection's last packet."""
    cut: list[int] = []
    for at, way in enumerate(directions(document)):
        connection = document["connections"][at // 2]
        end_ns = connection["start_ns"] + connection["duration_s"] * 1e9
        intervals = way.get("limit_intervals")
        if intervals and intervals[-1]["end_ns"] < end_ns - MILLISECOND:
            cut.append(at)
    return cut


def test_round_trips_begin_at_the_first_of_two() -> None:
    clean = clean_capture("window-limited.pcap")
    doubled = edit(clean, RepeatFrames(1.0, MILLISECOND, 4 * MILLISECOND)).capture
    for before, after in zip(directions(analyzed(clean)), directions(analyzed(doubled)), strict=True):
        assert after["rtt"] == before["rtt"]


def test_copies_that_the_network_made_are_not_the_captures() -> None:
    document = analyzed(clean_capture("reordered-duplicated.pcap"))
    assert quality(document)["duplicates"] == 0
    assert sum(way["loss"]["network_duplicates"] for way in directions(document)) == 11
