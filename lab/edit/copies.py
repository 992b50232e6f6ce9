"""Frames that were recorded twice: on a mirrored port, at two interfaces of a host, on both sides of a router."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from vmtrace.lab.edit.capture import Capture, Frame
from vmtrace.lab.edit.frames_chosen import Choice, allowed_places, everything, places_by_lot
from vmtrace.lab.edit.segment import segment_of
from vmtrace.lab.edit.truth import Truth


@dataclass(frozen=True, slots=True)
class RepeatFrames:
    """Frames are recorded once more, `shortest_ns` to `longest_ns` later, with `hops` taken off the TTL."""

    share: float
    shortest_ns: int = 0
    longest_ns: int = 0
    hops: int = 0
    choice: Choice = everything

    def apply(self, capture: Capture, random: Random) -> tuple[Capture, Truth]:
        """See `Fault`. A copy without delay stands right behind its original.

        Frames come into the order of their times: what puts them out of it goes behind this one.
        """
        places = set(places_by_lot(allowed_places(capture, self.choice), self.share, random))
        frames: list[Frame] = []
        for index, frame in enumerate(capture.frames):
            frames.append(frame)
            if index in places:
                later_ns = frame.time_ns + random.randint(self.shortest_ns, self.longest_ns)
                frames.append(replace(_after_hops(frame, capture.link_type, self.hops), time_ns=later_ns))
        frames.sort(key=lambda frame: frame.time_ns)
        repeated = tuple(capture.frames[place].number for place in sorted(places))
        return capture.with_frames(frames), Truth(duplicated=repeated)


def _after_hops(frame: Frame, link_type: int, hops: int) -> Frame:
    segment = segment_of(frame, link_type)
    if segment is None or not hops:
        return frame
    content = bytearray(frame.content)
    at = segment.ip_at + (8 if segment.ip_version == 4 else 7)
    content[at] = max(content[at] - hops, 1)
    return replace(frame, content=bytes(content))
