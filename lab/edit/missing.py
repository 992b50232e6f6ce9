"""Frames that crossed the wire and were not recorded, and frames of which only the front was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.frames_chosen import Choice, allowed_places, but_openings, places_by_lot
from vmtrace.lab.edit.truth import Truth


@dataclass(frozen=True, slots=True)
class DropFrames:
    """Each frame is missing with the same chance, whatever happened to the others."""

    share: float
    choice: Choice = but_openings

    def apply(self, capture: Capture, random: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        return _without(capture, places_by_lot(allowed_places(capture, self.choice), self.share, random))


@dataclass(frozen=True, slots=True)
class DropBursts:
    """So many bursts of so many consecutive frames are missing, as when the ring buffer of a capture overflows."""

    bursts: int
    frames: int
    choice: Choice = but_openings

    def apply(self, capture: Capture, random: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        places = allowed_places(capture, self.choice)
        starts = random.sample(range(len(places)), min(self.bursts, len(places)))
        gone = {place for start in starts for place in places[start : start + self.frames]}
        return _without(capture, sorted(gone))


@dataclass(frozen=True, slots=True)
class DropChosen:
    """These frames are missing, by their numbers."""

    numbers: frozenset[int]

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        gone = [index for index, frame in enumerate(capture.frames) if frame.number in self.numbers]
        return _without(capture, gone)


@dataclass(frozen=True, slots=True)
class BeginLater:
    """A capture that was begun in mid-stream: what came in the first `share` of its time is missing."""

    share: float

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        times_ns = [frame.time_ns for frame in capture.frames]
        first_ns, last_ns = min(times_ns, default=0), max(times_ns, default=0)
        begins_ns = first_ns + round(self.share * (last_ns - first_ns))
        return _without(capture, [index for index, time_ns in enumerate(times_ns) if time_ns < begins_ns])


@dataclass(frozen=True, slots=True)
class CutFrames:
    """A snap length: of each frame only so many bytes are recorded."""

    snap_length: int

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        cut = tuple(frame.number for frame in capture.frames if len(frame.content) > self.snap_length)
        frames = tuple(replace(frame, content=frame.content[: self.snap_length]) for frame in capture.frames)
        return replace(capture, snap_length=self.snap_length, frames=frames), Truth(cut=cut)


def _without(capture: Capture, gone: list[int]) -> tuple[Capture, Truth]:
    missing = set(gone)
    kept = [frame for index, frame in enumerate(capture.frames) if index not in missing]
    return capture.with_frames(kept), Truth(dropped=tuple(capture.frames[index].number for index in gone))
