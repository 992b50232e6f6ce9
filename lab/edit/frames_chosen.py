"""Which frames a fault may strike."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.segment import SYN, Segment, segments_of

Choice = Callable[[Segment], bool]
"""Says of a segment whether a fault may strike its frame. What is no TCP is never struck."""


def data(segment: Segment) -> bool:
    """Segments with payload."""
    return segment.is_data


def pure_acks(segment: Segment) -> bool:
    """Segments that only acknowledge."""
    return segment.is_pure_ack


def but_openings(segment: Segment) -> bool:
    """All but SYN and SYN-ACK."""
    return not segment.flags & SYN


def everything(_: Segment) -> bool:
    """Every segment."""
    return True


def allowed_places(capture: Capture, choice: Choice) -> list[int]:
    """Indexes of the frames that may be struck."""
    segments = enumerate(segments_of(capture))
    return [index for index, segment in segments if segment is not None and choice(segment)]


def places_by_lot(places: list[int], share: float, random: Random) -> list[int]:
    """Of these indexes each with the same chance; at least one, if there are any and the share is not 0."""
    drawn = [place for place in places if random.random() < share]
    return drawn or ([random.choice(places)] if places and share > 0 else [])
