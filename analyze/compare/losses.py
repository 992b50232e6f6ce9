"""What became of the segments that only one capture holds: lost on the way, not captured, or not to be known.

A segment that was sent and is not in the receiver's capture was lost, unless the receiver acknowledged its bytes before
another transmission brought them: then it arrived, and the capture missed it. A pure acknowledgement leaves no such
trace: if the capture that should hold it is known to have missed frames, nobody can say. A capture that began later or
ended earlier than the transfer shows in its own host's packets, which the other end saw: what was sent then is not
judged.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from vmtrace.analyze.compare.arrays import Booleans, Integers, expanded
from vmtrace.analyze.compare.matching import NOWHERE
from vmtrace.analyze.compare.packets import NOTHING_ACKNOWLEDGED, Packets
from vmtrace.analyze.compare.segments import Segments

_NEVER = np.iinfo(np.int64).max


class Fate(IntEnum):
    """Of a segment that was sent."""

    ARRIVED = 0
    LOST = 1
    NOT_CAPTURED = 2
    """It arrived, but the receiving end's capture does not hold it."""
    UNKNOWN = 3
    OUTSIDE = 4
    """It was sent while the receiving end was not captured."""


@dataclass(frozen=True, slots=True)
class Side:
    """One capture: its packets and their segments, and where each is in the other capture."""

    packets: Packets
    segments: Segments
    elsewhere: Integers
    copies: Booleans
    """Those that the network made."""


@dataclass(frozen=True, slots=True)
class Direction:
    """The segments that one end sent, as indices into both captures' segments."""

    sent: Integers
    arrived: Integers
    fates: Integers
    """Of those sent."""
    not_captured_by_sender: Booleans
    """Of those arrived: they must have been sent, and the sending end's capture does not hold them."""
    outside: Booleans
    """Of those arrived: the sending end was not captured then."""


def judge_pair(near: Side, far: Side, ours: Integers, theirs: Integers, from_client: bool) -> Direction:
    """The direction whose data `near` sends; `ours` and `theirs` are the pair's segments in both captures."""
    sent, back = _split(near, ours, from_client)
    arrived, back_there = _split(far, theirs, from_client)
    fates = np.full(len(sent), Fate.ARRIVED)
    missing = near.elsewhere[sent] == NOWHERE
    fates[missing] = Fate.LOST
    if missing.any():
        held = near.segments.end[sent] > near.segments.start[sent]
        proven = _captured_nowhere((near, sent, back), (far, arrived, back_there), missing & held)
        fates[proven] = Fate.NOT_CAPTURED
        outside = _outside(near, sent, back)
        fates[missing & outside] = Fate.OUTSIDE
        unseen = (near.elsewhere[back] == NOWHERE) & ~_outside(near, back, back)
        if (fates == Fate.NOT_CAPTURED).any() or (len(back_there) and unseen.any()):
            fates[(fates == Fate.LOST) & ~held] = Fate.UNKNOWN
    unsent = (far.elsewhere[arrived] == NOWHERE) & ~far.copies[arrived]
    outside_there = _outside(far, arrived, back_there) & unsent
    return Direction(sent, arrived, fates, unsent & ~outside_there, outside_there)


def _split(side: Side, which: Integers, from_client: bool) -> tuple[Integers, Integers]:
    """The segments that `from_client` tells, and those that come back (without copies)."""
    own = side.segments.from_client[which] == from_client
    return which[own], which[~own & ~side.copies[which]]


def _outside(near: Side, judged: Integers, back: Integers) -> Booleans:
    """Of the segments, those before the first or behind the last that the other capture holds, if that end's own
    packets show that it was not captured then: they are in this capture and not in its own.
    """
    known = np.flatnonzero(near.elsewhere[judged] != NOWHERE)
    known_back = np.flatnonzero(near.elsewhere[back] != NOWHERE)
    outside = np.zeros(len(judged), np.bool_)
    if not len(known) or not len(known_back):
        return outside
    if known_back[0] > 0:
        outside[: known[0]] = True
    if known_back[-1] < len(back) - 1:
        outside[known[-1] + 1 :] = True
    return outside


def _captured_nowhere(
    here: tuple[Side, Integers, Integers], there: tuple[Side, Integers, Integers], missing: Booleans
) -> Booleans:
    """Of the segments that are missing, those that the far end acknowledged before it was seen to have them.

    `here`, `there`: each end with its segments of the direction, and those that come back.
    """
    (near, sent, back), (far, arrived, back_there) = here, there
    proven = np.zeros(len(sent), np.bool_)
    which = np.flatnonzero(missing)
    start, end = near.segments.start[sent[which]], near.segments.end[sent[which]]
    covered = _first_covered(far.segments.start[arrived], far.segments.end[arrived], arrived, start, end)
    acknowledged = _first_acknowledged(far, back_there, end)
    ever = _first_acknowledged(near, back, end) != _NEVER
    # Of several transmissions of the same bytes one arrived: the last one there is.
    last = np.zeros(len(which), np.bool_)
    _, newest = np.unique(np.stack((start, end))[:, ::-1], axis=1, return_index=True)
    last[len(which) - 1 - newest] = True
    proven[which] = last & ((acknowledged < covered) | ((covered == _NEVER) & ever))
    return proven


def _first_acknowledged(side: Side, segments: Integers, positions: Integers) -> Integers:
    """Place (in the capture's order) of the first of these segments that acknowledges all up to each position."""
    said = side.packets.acknowledgement[side.segments.packet[segments]]
    reported = said != NOTHING_ACKNOWLEDGED
    highest = np.maximum.accumulate(said[reported]) if reported.any() else said[reported]
    places = np.append(segments[reported], _NEVER)
    first: Integers = places[np.searchsorted(highest, positions)]
    return first


def _first_covered(start: Integers, end: Integers, place: Integers, wanted: Integers, wanted_end: Integers) -> Integers:
    """Place of the segment with which all of each wanted range had been seen; `_NEVER` if it never was."""
    borders = np.unique(np.concatenate((start, end, wanted, wanted_end)))
    if len(borders) < 2:
        return np.full(len(wanted), _NEVER)
    first_piece, behind = np.searchsorted(borders, start), np.searchsorted(borders, end)
    pieces = expanded(first_piece, behind - first_piece)
    seen = np.full(len(borders), _NEVER)
    np.minimum.at(seen, pieces, np.repeat(place, behind - first_piece))
    begin, stop = np.searchsorted(borders, wanted), np.searchsorted(borders, wanted_end)
    covered = np.full(len(wanted), _NEVER)
    real = stop > begin
    asked = expanded(begin[real], (stop - begin)[real])
    if len(asked):
        counts = (stop - begin)[real]
        covered[real] = np.maximum.reduceat(seen[asked], np.cumsum(counts) - counts)
    return covered
