"""Which pairs of packets a one-way delay is taken from, and what the delays are.

With segmentation offload a packet's time is that of the whole: the sender's superpacket is stamped before its first
segment leaves, the receiver's after its last one came. So of each superpacket at the sender the first segment counts,
of each at the receiver the last one.
"""

from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers
from vmtrace.analyze.compare.clock import Crossings
from vmtrace.analyze.compare.host_ticks import Ticks, ticks
from vmtrace.analyze.compare.matching import NOWHERE, Matching
from vmtrace.analyze.compare.packets import Packets
from vmtrace.analyze.compare.segments import Segments
from vmtrace.analyze.tables.schema.typed import Count


@dataclass(frozen=True, slots=True)
class Delays:
    """One-way delays in seconds; null where there is none."""

    samples: Count
    """Packets measured."""
    min_s: float | None
    mean_s: float | None
    median_s: float | None
    p99_s: float | None
    max_s: float | None


def crossings(
    sender: Packets, ours: Segments, receiver: Packets, theirs: Segments, matching: Matching, outward: Booleans
) -> tuple[Crossings, Integers]:
    """All pairs of packets to measure with, and the pair of connections that each belongs to."""
    here = np.flatnonzero((matching.at_receiver != NOWHERE) & matching.certain)
    there = matching.at_receiver[here]
    our_packet, their_packet = ours.packet[here], theirs.packet[there]
    forward = outward[here]
    near, far = (np.where(forward, *pair) for pair in ((our_packet, their_packet), (their_packet, our_packet)))
    # Numbers of one capture's packets stand for both directions: keep those of the two ends apart.
    first_there = _extreme(near * 2 + forward, far, np.minimum) == far
    last_here = _extreme(far * 2 + forward, near, np.maximum) == near
    chosen = first_there & last_here
    _, once = np.unique(near[chosen] * 2 + forward[chosen], return_index=True)
    which = np.flatnonzero(chosen)[np.sort(once)]
    found = Crossings(
        our_packet[which],
        their_packet[which],
        sender.time_ns[our_packet[which]],
        receiver.time_ns[their_packet[which]],
        forward[which],
    )
    return found, ours.pair[here[which]]


def timestamps(sender: Packets, receiver: Packets, found: Crossings, pair: Integers) -> tuple[list[Ticks], list[Ticks]]:
    """What the timestamps of the sender's host, and of the receiver's, say of the clock of the capture there."""
    ends = (
        (sender, found.sender_packet, found.sender_ns, found.forward),
        (receiver, found.receiver_packet, found.receiver_ns, ~found.forward),
    )
    ours, theirs = (ticks(number[own], ns[own], end.tsval[number[own]], pair[own]) for end, number, ns, own in ends)
    return ours, theirs


def _extreme(group: Integers, value: Integers, choose: np.ufunc) -> Integers:
    """Of each row's group, the smallest or largest value."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    if not len(order):
        return value
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    extremes = choose.reduceat(value[order], begins)
    result = np.empty_like(value)
    result[order] = np.repeat(extremes, np.diff(np.append(begins, len(order))))
    return result


def true_delays(found: Crossings, ahead_s: Floats) -> Floats:
    """Delays with the clock's error taken out."""
    apart_s = (found.receiver_ns - found.sender_ns) / 1e9 - ahead_s
    delays: Floats = np.where(found.forward, apart_s, -apart_s)
    return delays


def summary(delay_s: Floats) -> Delays:
    """What is told of them."""
    if not len(delay_s):
        return Delays(0, None, None, None, None, None)
    median_s, p99_s = np.quantile(delay_s, (0.5, 0.99))
    return Delays(
        len(delay_s), float(delay_s.min()), float(delay_s.mean()), float(median_s), float(p99_s), float(delay_s.max())
    )
