"""What is a step of a clock, and what only looks like one: queues that rise, stand and drain.

A step shows in both directions oppositely, at one place, sharply. Where the host's timestamps cover the place, they
decide (`host_ticks`). Elsewhere the capture whose clock it was has a hole as long as the step that the other one does
not have, or its times run back; or nothing passed for that long at either end, and no queue stood around it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers
from vmtrace.analyze.compare.clock_steps import MOST_STEPS, MOST_TRIED, SMALLEST_STEP_S, Cut, find_cuts, parting
from vmtrace.analyze.compare.host_ticks import FEWEST, MOST_SKEW, Ticks

_NEAR = 64
"""Packets of a direction on either side that are looked at."""
_ALIKE = 0.25
"""Two measures of one step differ by at most this share of it."""
_MOST_NOISE = 0.5
"""Share of the step that the least sure of what shows it may be wrong by."""
_STANDS_OUT = 3
"""Where no timestamps show it, a step is so many times as large as what the delays vary by."""
_FAR = 16 * _NEAR
"""Packets of both directions among which they are looked for."""
_WIDTHS = (FEWEST, 4, 1)
"""Packets that a smallest delay is taken of: many where each varies, few where a queue grows fast."""
_PIECES = 8
"""Smallest delays on either side that say how much they vary."""


@dataclass(frozen=True, slots=True)
class _Move:
    """By how much a direction's delays move at a place, and by how much they move near it anyway."""

    by_s: float
    noise_s: float
    pause_s: float
    """Between the packets on either side: a queue may have drained by so much."""
    floors_s: tuple[float, float]
    """Smallest delay before it and behind it."""
    drift_s: float
    """How far the clocks may have run apart meanwhile."""

    def allows(self, step_s: float) -> bool:
        """The delays moved by that much, as far as they can say."""
        return abs(self.by_s - step_s) <= max(_ALIKE * abs(step_s), 2 * self.noise_s, self.pause_s)

    def shows(self, step_s: float) -> bool:
        """The delays moved by that much, and do not otherwise."""
        return abs(self.by_s - step_s) <= _ALIKE * abs(step_s) and self.noise_s * _STANDS_OUT <= abs(step_s)


class Proof:
    """All crossings in both captures' orders, and what the hosts' timestamps say of either capture's clock."""

    def __init__(
        self,
        packets: tuple[Integers, Integers],
        times_ns: tuple[Integers, Integers],
        forward: Booleans,
        hosts: tuple[Sequence[Ticks], Sequence[Ticks]],
    ) -> None:
        self._packets, self._forward = packets, forward
        self._times_s = [(times - times[0]) / 1e9 for times in times_ns]
        self._hosts = [list(one) for one in hosts]

    @cached_property
    def _orders(self) -> list[NDArray[np.intp]]:
        return [np.argsort(packets, kind="stable") for packets in self._packets]

    @cached_property
    def _covered(self) -> list[Booleans]:
        """For the sender's and the receiver's capture, the crossings around which the host's timestamps decide."""
        return [
            np.any([one.covers(packets) for one in hosts], axis=0) if hosts else np.zeros(len(packets), np.bool_)
            for hosts, packets in zip(self._hosts, self._packets, strict=True)
        ]

    def cuts(self, delay_s: Floats) -> tuple[Cut, ...]:
        """All steps, in the order of the sender's capture."""
        cuts: list[Cut] = []
        for end in (0, 1):
            while len(cuts) < MOST_STEPS:
                shown = (one for one in self._ticked(end, delay_s) if self._in_both(one, delay_s, _Move.allows))
                cut = next(shown, None)
                if cut is None:
                    break
                cuts.append(cut)
                delay_s = delay_s - np.where(cut.behind(*self._packets), np.where(self._forward, 1, -1) * cut.step_s, 0)
                packet = int(self._packets[end][cut.first])
                self._hosts[end] = [one.moved(packet, _set_ahead_s(cut)) for one in self._hosts[end]]
        covered_by_both = self._covered[0] & self._covered[1]
        found = find_cuts(*self._packets, delay_s, self._forward, self._judged, covered_by_both)
        return tuple(sorted((*cuts, *found), key=lambda cut: cut.first))

    def _place(self, cut: Cut) -> tuple[int, int]:
        """In which capture's order it cuts (0: the sender's), and how many crossings lie before it there."""
        end = _end(cut)
        return end, int(np.searchsorted(self._packets[end][self._orders[end]], self._packets[end][cut.first]))

    def _ticked(self, end: int, delay_s: Floats) -> Iterator[Cut]:
        """Steps that the host's timestamps show."""
        tried = 0
        for one in self._hosts[end]:
            for last, first in one.jumps(SMALLEST_STEP_S):
                by_s, error_s = one.jump(first)
                tried += 1
                if tried > MOST_TRIED:
                    return
                if abs(by_s) >= SMALLEST_STEP_S and error_s <= _MOST_NOISE * abs(by_s):
                    yield self._cut(end, self._parting(end, last, first, by_s, delay_s), by_s, error_s)

    def _parting(self, end: int, last: int, first: int, by_s: float, delay_s: Floats) -> int:
        """Where between these packets of this capture, in its order: what the other host sent lies there, too."""
        order = self._orders[end]
        before, behind = (int(place) for place in np.searchsorted(self._packets[end][order], (last, first)))
        between = order[before + 1 : behind]
        earlier = order[max(before - _NEAR, 0) : before]
        earlier = earlier[self._forward[earlier] == bool(end)]
        if not len(between) or not len(earlier):
            return behind
        # Own packets come by TSval; all of these are the other host's, and move as its delays do, seen from here.
        above_s = delay_s[between] - delay_s[earlier].min()
        return before + 1 + parting(above_s, above_s - by_s)

    def _cut(self, end: int, place: int, by_s: float, error_s: float) -> Cut:
        first = int(self._orders[end][place])
        packet = int(self._packets[end][first])
        if end:
            return Cut(first, by_s, "receiver", None, packet, error_s)
        return Cut(first, -by_s, "sender", packet, None, error_s)

    def _in_both(self, cut: Cut, delay_s: Floats, shown: Callable[[_Move, float], bool]) -> bool:
        """Both directions' delays move there, oppositely, by the step."""
        for width in _WIDTHS:
            forth, back = (self._move(cut, delay_s, way, width) for way in (True, False))
            if forth and back and shown(forth, cut.step_s) and shown(back, -cut.step_s):
                return True
        return False

    def _move(self, cut: Cut, delay_s: Floats, way: bool, width: int) -> _Move | None:
        """Of the smallest delays of so many packets each, right before and right behind the place."""
        end, place = self._place(cut)
        order = self._orders[end]
        pieces, times_s, ends_s = [], [], []
        for side in (order[max(place - _FAR, 0) : place][::-1], order[place : place + _FAR]):
            part = side[self._forward[side] == way][:_NEAR]
            if len(part) < FEWEST:
                return None
            lows = delay_s[part][: len(part) // width * width].reshape(-1, width).min(axis=1)
            pieces.append(lows[:_PIECES])
            times_s.append(self._times_s[1 - end][part[0]])
            ends_s.append(self._times_s[1 - end][part[-1]])
        before, behind = pieces
        noise_s = max((float(np.abs(np.diff(lows)).max()) for lows in pieces if len(lows) > 1), default=0.0)
        pause_s = abs(float(times_s[1] - times_s[0]))
        floors_s, drift_s = (float(before.min()), float(behind.min())), MOST_SKEW * abs(float(ends_s[1] - ends_s[0]))
        return _Move(float(behind[0] - before[0]), noise_s, pause_s, floors_s, drift_s)

    def _judged(self, cut: Cut, delay_s: Floats) -> Cut | None:
        """The step, if this is one; of those that no timestamps cover."""
        end = _end(cut)
        if self._covered[end][cut.first] or not self._stays(cut, delay_s):
            return None
        if self._covered[1 - end][cut.first]:
            cut = replace(cut, clock="receiver" if end else "sender")
        forth, back = (
            [move for width in _WIDTHS if (move := self._move(cut, delay_s, way, width)) is not None]
            for way in (True, False)
        )
        if not forth or not back:
            return None
        moved_s = [moves[0].floors_s[1] - moves[0].floors_s[0] for moves in (forth, back)]
        step_s, error_s = (moved_s[0] - moved_s[1]) / 2, self._queues_s(cut, delay_s, (forth[0], back[0]))
        level = abs(moved_s[0] + moved_s[1]) / 2 <= _ALIKE * abs(step_s)
        if not (self._idle(cut) and level and error_s <= _MOST_NOISE * abs(step_s)):
            if not self._sharp(cut) or not self._in_both(cut, delay_s, _Move.shows):
                return None
            signs = [1] * len(forth) + [-1] * len(back)
            both = zip(signs, forth + back, strict=True)
            error_s, step_s = min((move.noise_s + move.drift_s, sign * move.by_s) for sign, move in both)
        return replace(cut, step_s=step_s, error_s=error_s) if error_s <= _MOST_NOISE * abs(step_s) else None

    def _stays(self, cut: Cut, delay_s: Floats) -> bool:
        """The smallest delays of the whole time before and behind it do not fit better without it."""
        behind = cut.behind(*self._packets)
        without_s = with_s = 0.0
        for way, sign in ((True, 1), (False, -1)):
            sides = [delay_s[(self._forward == way) & side] for side in (~behind, behind)]
            if not all(len(side) for side in sides):
                return False
            moved_s = float(sides[1].min() - sides[0].min())
            without_s += abs(moved_s)
            with_s += abs(moved_s - sign * cut.step_s)
        return with_s - without_s <= _MOST_NOISE * abs(cut.step_s)

    def _around(self, cut: Cut) -> NDArray[np.intp]:
        end, place = self._place(cut)
        return self._orders[end][max(place - FEWEST, 0) : place + FEWEST]

    def _sharp(self, cut: Cut) -> bool:
        """This capture's times run back there, or have a hole that the other's do not have."""
        passed_s, by_s = np.diff(self._times_s[_end(cut)][self._around(cut)]), _set_ahead_s(cut)
        if by_s < 0:
            return bool(passed_s.min() < 0)
        return bool(passed_s.max() >= (1 - _ALIKE) * by_s and self._pause_s(cut) < _MOST_NOISE * by_s)

    def _idle(self, cut: Cut) -> bool:
        """Nothing passed there for as long as the step."""
        return self._pause_s(cut) >= (1 - _ALIKE) * abs(cut.step_s)

    def _pause_s(self, cut: Cut) -> float:
        """For how long nothing passed there, by the clock that was not set; in the direction with less of a pause."""
        around, times_s = self._around(cut), self._times_s[1 - _end(cut)]
        ways = (np.sort(times_s[around[self._forward[around] == way]]) for way in (True, False))
        return min(float(np.diff(way).max(initial=0.0)) for way in ways)

    def _queues_s(self, cut: Cut, delay_s: Floats, moves: tuple[_Move, _Move]) -> float:
        """How far the step can be from what the smallest delays near it say: queues on either side, and drift.

        Queues by the round trips between the captures, next to the smallest anywhere: no clock is in those.
        """
        end, place = self._place(cut)
        order = self._orders[end]
        number = np.arange(len(order)) // _NEAR
        lows = np.full((2, int(number[-1]) + 1), np.inf)
        np.minimum.at(lows, (self._forward[order].astype(np.int64), number), delay_s[order])
        elsewhere = np.abs(np.arange(lows.shape[1]) - place // _NEAR) > 1
        here_s = [moves[0].floors_s[side] + moves[1].floors_s[side] for side in (0, 1)]
        least_s = min(*here_s, float(lows.sum(axis=0)[elsewhere].min(initial=np.inf)))
        return (sum(here_s) - 2 * least_s) / 2 + max(move.drift_s for move in moves)


def _end(cut: Cut) -> int:
    return 0 if cut.sender_packet is not None else 1


def _set_ahead_s(cut: Cut) -> float:
    """By how much the clock in whose order it cuts was set."""
    return cut.step_s if _end(cut) else -cut.step_s
