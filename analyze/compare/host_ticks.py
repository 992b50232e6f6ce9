"""What the TCP timestamps (RFC 7323) of a host say about the clock of the capture taken there.

TSval counts the ticks of a clock that no one sets. The time of a packet by the capture less that of its TSval is steady
whatever the path does to the packet: it moves where the capture's clock is set, and by as much.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers
from vmtrace.analyze.compare.clock_steps import BLOCKS_AROUND, lows_before_and_after, parting
from vmtrace.analyze.compare.packets import ABSENT

_WRAP = 2**32
_SAME_RATE = 0.02
_USUAL_TICKS_S = (1e-6, 0.001, 0.004, 0.01)
"""Of hosts' clocks; another, or slower, count cannot place a step, nor say how large it is."""
FEWEST = 16
"""Packets on either side of a step."""
_NEAR = 256
_MOST_CONNECTIONS = 64
_HOST_ERROR_S = 100e-6


@dataclass(frozen=True, slots=True)
class Ticks:
    """Packets that one host sent in one connection, in the order of the capture taken there."""

    packet: Integers
    late_s: Floats
    """Time by the capture less time by TSval; the level means nothing."""
    tsval: Integers
    tick_s: float

    def covers(self, packet: Integers) -> Booleans:
        """True where enough packets lie on either side."""
        within: Booleans = (packet >= self.packet[FEWEST]) & (packet <= self.packet[-FEWEST])
        return within

    def jumps(self, least_s: float) -> Iterator[tuple[int, int]]:
        """Where the level moves by so much, the largest first: the last packet before it, and the first behind it."""
        count = len(self.packet)
        number = np.arange(count) // FEWEST
        lows = np.full((1, int(number[-1]) + 1), np.inf)
        np.minimum.at(lows[0], number, self.late_s)
        if lows.shape[1] < 3:
            return
        before, behind = lows_before_and_after(lows)
        moved_s = (behind - before)[0]
        for best in np.argsort(-np.abs(moved_s), kind="stable"):
            if abs(moved_s[best]) < least_s:
                return
            around = slice(max(best + 1 - BLOCKS_AROUND, 0) * FEWEST, (best + 2 + BLOCKS_AROUND) * FEWEST)
            late_s = self.late_s[around]
            place = around.start + parting(late_s - before[0][best], late_s - behind[0][best])
            if 0 < place < count:
                yield int(self.packet[place - 1]), int(self.packet[place])

    def jump(self, packet: int) -> tuple[float, float]:
        """By how much the capture's clock was set before this packet, and the error of that."""
        place = int(np.searchsorted(self.packet, packet))
        before, behind = slice(max(place - _NEAR, 0), place), slice(place, place + _NEAR)
        if place < FEWEST or len(self.packet) - place < FEWEST:
            return 0.0, np.inf
        moved_s = float(self.late_s[behind].min() - self.late_s[before].min())
        return moved_s, sum(self.tick_s / len(np.unique(self.tsval[side])) for side in (before, behind)) + _HOST_ERROR_S

    def moved(self, packet: int, step_s: float) -> "Ticks":
        """The same with a step taken out."""
        late_s = self.late_s - np.where(self.packet >= packet, step_s, 0.0)
        return Ticks(self.packet, late_s, self.tsval, self.tick_s)


def ticks(packet: Integers, time_ns: Integers, tsval: Integers, connection: Integers) -> list[Ticks]:
    """Of the connections with the most packets; those without timestamps, or with strange ones, have none."""
    known = np.flatnonzero(tsval != ABSENT)
    found: list[Ticks] = []
    for one in _largest_groups(connection[known]):
        which = known[one]
        which = which[np.argsort(packet[which], kind="stable")]
        made = _ticks(packet[which], time_ns[which], tsval[which])
        if made is not None:
            found.append(made)
    return found


def _largest_groups(connection: Integers) -> Iterator[Integers]:
    order = np.argsort(connection, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(connection[order])) + 1)
    large = [one for one in groups if len(one) >= 2 * FEWEST]
    yield from sorted(large, key=len, reverse=True)[:_MOST_CONNECTIONS]


def _ticks(packet: Integers, time_ns: Integers, tsval: Integers) -> Ticks | None:
    count = (np.diff(tsval, prepend=tsval[:1]) + _WRAP // 2) % _WRAP - _WRAP // 2
    count = np.cumsum(count)
    time_s = (time_ns - time_ns[0]) / 1e9
    # Pairs far apart give the rate; a step lies within few of them.
    apart = max(len(packet) // 4, 1)
    counted, passed_s = count[apart:] - count[:-apart], time_s[apart:] - time_s[:-apart]
    useful = counted > 0
    if not useful.any():
        return None
    tick_s = float(np.median(passed_s[useful] / counted[useful]))
    usual_s = next((one for one in _USUAL_TICKS_S if abs(tick_s - one) <= _SAME_RATE * one), None)
    return None if usual_s is None else Ticks(packet, time_s - count * usual_s, tsval, usual_s)
