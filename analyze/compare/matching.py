"""Finds each wire segment of the sender's capture in the receiver's, and tells retransmissions apart.

A segment is known by its range, what it acknowledges, its timestamps and its IPv4 identification. The last two tell the
transmissions of the same bytes apart; where one of them changes on the way (a NAT may renumber), or is not there, order
does. What arrives more often than it was sent is a copy that the network made.
"""

from dataclasses import dataclass, replace

import numpy as np

from vmtrace.analyze.compare.arrays import Booleans, Integers, common, mixed, ranks
from vmtrace.analyze.compare.packets import ABSENT, SYN, Packets
from vmtrace.analyze.compare.segments import Segments

NOWHERE = -1
_ALIKE = 0.9
"""A field is left alone by the path if it is the same in this share of the segments that are unique without it."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Who is who: for each segment of one capture its place in the other, or `NOWHERE`."""

    at_receiver: Integers
    at_sender: Integers
    copies_at_receiver: Booleans
    """Of the receiver's segments, those that the network made."""
    copies_at_sender: Booleans
    """Of the sender's segments (that came from the receiver), likewise."""
    certain: Booleans
    """Of the sender's segments, those of which there is no doubt which transmission of it the other one is."""


@dataclass(frozen=True, slots=True)
class _Fields:
    """What is compared, of one capture."""

    base: Integers
    tsval: Integers
    identification: Integers

    @property
    def key(self) -> Integers:
        return mixed(self.base, self.tsval, self.identification)


def match(sender: Packets, ours: Segments, receiver: Packets, theirs: Segments, client_at_sender: Booleans) -> Matching:
    """Match all segments at once; `client_at_sender` tells for each pair which way they go."""
    left, right = _trusted(_fields(sender, ours), ours, _fields(receiver, theirs), theirs)
    outward = [part.from_client == client_at_sender[part.pair] for part in (ours, theirs)]
    matched = _by_key(left.key, outward[0], right.key, outward[1])
    return _by_range(matched, left.tsval, ours, right.tsval, theirs)


def _fields(packets: Packets, segments: Segments) -> _Fields:
    empty = segments.end == segments.start
    base = mixed(
        segments.pair,
        segments.from_client,
        segments.start,
        segments.end,
        segments.control,
        packets.acknowledgement[segments.packet],
        # Acknowledgements without data may differ in nothing else.
        np.where(empty & (segments.control == 0), packets.tsecr[segments.packet], 0),
    )
    # A SYN is known by its initial sequence number; its options may go beyond what was captured.
    tsval = np.where((segments.control & SYN) != 0, ABSENT, packets.tsval[segments.packet])
    return _Fields(base, tsval, segments.identification)


def _trusted(left: _Fields, ours: Segments, right: _Fields, theirs: Segments) -> tuple[_Fields, _Fields]:
    """Without the fields that the path changes, by pair and direction."""
    for name, other in (("identification", "tsval"), ("tsval", "identification")):
        places = common(mixed(left.base, getattr(left, other)), mixed(right.base, getattr(right, other)))
        alike = getattr(left, name)[places[0]] == getattr(right, name)[places[1]]
        groups = _group(ours)[places[0]]
        size = int(max(_group(ours).max(initial=0), _group(theirs).max(initial=0))) + 1
        seen = np.bincount(groups, minlength=size)
        changed = np.bincount(groups, weights=alike, minlength=size) < _ALIKE * seen
        left = replace(left, **{name: np.where(changed[_group(ours)], ABSENT, getattr(left, name))})
        right = replace(right, **{name: np.where(changed[_group(theirs)], ABSENT, getattr(right, name))})
    return left, right


def _group(segments: Segments) -> Integers:
    return segments.pair * 2 + segments.from_client


def _by_key(ours: Integers, sent_here: Booleans, theirs: Integers, arrived_there: Booleans) -> Matching:
    """Segments with the same key in their order; of those sent more often than they arrived, the last ones."""
    # Small numbers in place of keys: everything else is then counting.
    _, number = np.unique(np.concatenate((ours, theirs)), return_inverse=True)
    mine, other = number[: len(ours)], number[len(ours) :]
    size = len(number)
    sent, arrived = np.bincount(mine, minlength=size), np.bincount(other, minlength=size)
    counts, there, their_counts, here = sent[mine], arrived[mine], arrived[other], sent[other]
    rank = ranks(mine) - np.where(sent_here, np.maximum(counts - there, 0), 0)
    their_rank = ranks(other) - np.where(arrived_there, 0, np.maximum(their_counts - here, 0))
    left, right = common(mine * size + rank, other * size + their_rank)
    at_receiver, at_sender = np.full(len(ours), NOWHERE), np.full(len(theirs), NOWHERE)
    at_receiver[left], at_sender[right] = right, left
    return Matching(
        at_receiver,
        at_sender,
        copies_at_receiver=arrived_there & (at_sender == NOWHERE) & (here > 0),
        copies_at_sender=~sent_here & (at_receiver == NOWHERE) & (there > 0),
        certain=counts == there,
    )


def _by_range(matching: Matching, tsval: Integers, ours: Segments, their_tsval: Integers, theirs: Segments) -> Matching:
    """Segments that were cut elsewhere than we thought: those left that begin or end at the same place."""
    at_receiver, at_sender = matching.at_receiver.copy(), matching.at_sender.copy()
    for end in ("start", "end"):
        mine = np.flatnonzero((at_receiver == NOWHERE) & ~matching.copies_at_sender & (ours.payload_bytes > 0))
        other = np.flatnonzero((at_sender == NOWHERE) & ~matching.copies_at_receiver & (theirs.payload_bytes > 0))
        if not len(mine) or not len(other):
            break
        keys = (
            mixed(part.pair[which], part.from_client[which], getattr(part, end)[which], stamps[which])
            for part, which, stamps in ((ours, mine, tsval), (theirs, other, their_tsval))
        )
        left, right = common(next(keys), next(keys))
        at_receiver[mine[left]], at_sender[other[right]] = other[right], mine[left]
    return replace(matching, at_receiver=at_receiver, at_sender=at_sender)
