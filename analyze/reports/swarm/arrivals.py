"""When payload arrived for the first time: bytes of each data packet that no packet before it brought.

Works on sequence numbers, so that it holds whatever a packet is called: a retransmission that fills a hole counts, a
copy of what is there does not.
"""

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def new_bytes(sequence: Ints, length: Ints) -> Ints:
    """New bytes of each packet, in the order of arrival; `sequence` is without wrap-around."""
    end = sequence + length
    if not len(end):
        return np.zeros(0, np.int64)
    highest = np.maximum.accumulate(end)
    before = np.concatenate(([sequence[0]], highest[:-1]))
    fresh: Ints = np.maximum(end - np.maximum(sequence, before), 0)
    jumps = np.flatnonzero(sequence > before)
    if len(jumps):
        _fill_holes(fresh, sequence, end, before, int(jumps[0]))
    return fresh


def _fill_holes(fresh: Ints, sequence: Ints, end: Ints, before: Ints, first: int) -> None:
    """Add what fills holes that earlier packets left; only packets behind the `first` jump can."""
    holes: list[tuple[int, int]] = []
    for place in range(first, len(sequence)):
        start, stop, edge = int(sequence[place]), int(end[place]), int(before[place])
        if start > edge:
            holes.append((edge, start))
        elif start < edge and holes and stop > holes[0][0]:
            fresh[place] += _taken(holes, start, min(stop, edge))


def _taken(holes: list[tuple[int, int]], start: int, stop: int) -> int:
    """Bytes of the holes between two numbers; they are filled then. Holes are in rising order."""
    at = max(bisect_left(holes, (start, start)) - 1, 0)
    taken = 0
    while at < len(holes) and holes[at][0] < stop:
        low, high = holes[at]
        cut_low, cut_high = max(low, start), min(high, stop)
        if cut_low >= cut_high:
            at += 1
            continue
        left = [part for part in ((low, cut_low), (cut_high, high)) if part[0] < part[1]]
        holes[at : at + 1] = left
        taken += cut_high - cut_low
        at += len(left)
    return taken
