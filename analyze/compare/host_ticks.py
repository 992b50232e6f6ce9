"""What the TCP timestamps (RFC 7323) of a host say about the clock of the capture taken there.

TSval counts the ticks of a clock that no one sets. The time of a packet by the capture less the time of its TSval is
steady, whatever the path does to the packet: it moves where the capture's clock is set, and by as much.
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
_NEAR = (FEWEST, 64, 256)
"""Packets on either side that a level is taken from: more say it to a part of a tick, and take longer."""
MOST_SKEW = 500e-6
"""No clock that is disciplined is let run off by more: RFC 5905, the tolerance of frequencies (MAXFREQ)."""
_ALIKE = 0.25
"""Share of a step by which it may be another right beside it."""
_LONGEST_S = 4.0
"""That so few packets may take for a level of theirs to show a step."""
_STEADY_S = 0.001
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
        """True where enough packets lie close on either side."""
        place = np.clip(np.searchsorted(self.packet, packet), FEWEST, len(self.packet) - FEWEST)
        passed_s = (self.tsval[place + FEWEST - 1] - self.tsval[place - FEWEST]) % _WRAP * self.tick_s
        within: Booleans = (packet >= self.packet[FEWEST]) & (packet <= self.packet[-FEWEST])
        return within & (passed_s <= _LONGEST_S)

    def jumps(self, least_s: float) -> Iterator[tuple[int, int]]:
        """Where the level moves by so much, the largest first: the last packet before it, and the first behind it."""
        lows = _lows(self.late_s)[None]
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
            if 0 < place < len(self.packet):
                yield int(self.packet[place - 1]), int(self.packet[place])

    def jump(self, packet: int) -> tuple[float, float]:
        """By how much the capture's clock was set before this packet, and the error of that."""
        place = int(np.searchsorted(self.packet, packet))
        if place < FEWEST or len(self.packet) - place < FEWEST:
            return 0.0, np.inf
        at_once, *wider = (self._moved(place, near) for near in _NEAR)
        moved_s, error_s = min((at_once, *wider), key=lambda found: found[1])
        # A queue in the host fills by and by.
        sharp = abs(at_once[0] - moved_s) <= at_once[1] + _ALIKE * abs(moved_s)
        return moved_s, error_s if sharp else np.inf

    def _moved(self, place: int, near: int) -> tuple[float, float]:
        sides = slice(max(place - near, 0), place), slice(place, place + near)
        before_s, behind_s = (float(self.late_s[side].min()) for side in sides)
        ticks_s = sum(self.tick_s / len(np.unique(self.tsval[side])) for side in sides)
        passed_s = (int(self.tsval[sides[1]][-1]) - int(self.tsval[sides[0]][0])) % _WRAP * self.tick_s
        return behind_s - before_s, ticks_s + MOST_SKEW * passed_s + _HOST_ERROR_S

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
    if usual_s is None:
        return None
    late_s = time_s - count * usual_s
    # With a queue between the host and the capture they say nothing of steps.
    steady = np.median(np.abs(np.diff(_lows(late_s)))) <= max(usual_s, _STEADY_S)
    return Ticks(packet, late_s, tsval, usual_s) if steady else None


def _lows(late_s: Floats) -> Floats:
    lows: Floats = np.minimum.reduceat(late_s, np.arange(0, len(late_s), FEWEST))
    return lows
