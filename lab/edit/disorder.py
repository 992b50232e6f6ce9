"""Frames that were recorded in another order than they crossed the wire, as several receive queues do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from random import Random

from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.segment import Segment, segments_of
from vmtrace.lab.edit.truth import Truth

Pairing = Callable[[Segment, Segment], bool]
"""Says of two neighbours whether they may change places."""


class Times(Enum):
    """What the time of a frame does that changes its place."""

    MOVE = "frames take their times along: times in the file then run backwards for a moment"
    STAY = "each place keeps its time: frames were stamped after they were put out of order"


def any_two(_: Segment, __: Segment) -> bool:
    """Any neighbours."""
    return True


def two_of_data(first: Segment, second: Segment) -> bool:
    """Data behind data of the same direction."""
    return first.is_data and second.is_data and first.source == second.source


def data_and_its_ack(first: Segment, second: Segment) -> bool:
    """Data, and an acknowledgement of all of it."""
    end = first.seq + first.payload_bytes
    answers = second.source == first.destination and second.destination == first.source
    return first.is_data and answers and (second.ack - end) % (1 << 32) < 1 << 31


@dataclass(frozen=True, slots=True)
class SwapNeighbours:
    """Neighbours less than `within_ns` apart change places, each pair with the same chance, none twice."""

    share: float
    times: Times
    pairing: Pairing = any_two
    within_ns: int = 2_000_000

    def apply(self, capture: Capture, random: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        frames, segments = list(capture.frames), segments_of(capture)
        swapped, index = [], 0
        while index + 1 < len(frames):
            first, second = frames[index], frames[index + 1]
            one, other = segments[index], segments[index + 1]
            near = second.time_ns - first.time_ns < self.within_ns
            if near and one and other and self.pairing(one, other) and random.random() < self.share:
                swapped.append((first.number, second.number))
                if self.times is Times.STAY:
                    first, second = replace(first, time_ns=second.time_ns), replace(second, time_ns=first.time_ns)
                frames[index], frames[index + 1] = second, first
                index += 1
            index += 1
        return capture.with_frames(frames), Truth(swapped=tuple(swapped))
