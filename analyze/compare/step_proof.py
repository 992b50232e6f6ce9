"""What is a step of a clock, and what only looks like one: queues that rise, stand and drain.

A step shows in both directions oppositely, at one place, sharply. Where the host's timestamps cover the place, they decide
(`host_ticks`). Elsewhere the capture whose clock it was has a hole as long as the step that the other one does not have,
or its times run back; or nothing passed for that long at either end, and no queue stood before it or behind it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers
from vmtrace.analyze.compare.clock_steps import MOST_STEPS, MOST_TRIED, SMALLEST_STEP_S, Cut, find_cuts
from vmtrace.analyze.compare.host_ticks import FEWEST, Ticks

_NEAR = 64
"""Packets of a direction on either side that are looked at."""
_ALIKE = 0.25
"""Two measures of one step differ by at most this share of it."""
_MOST_NOISE = 0.5
"""Share of the step that a direction's delays may vary by and still show it."""


@dataclass(frozen=True, slots=True)
class _Move:
    """By how much a direction's delays move at a place, and by how much they move near it anyway."""

    by_s: float
    noise_s: float
    floors_s: tuple[float, float]
    """Smallest delay before it and behind it."""

    def shows(self, step_s: float, most_noise: float) -> bool:
        """The delays moved by that much, as far as they can say."""
        noise_s = min(self.noise_s, most_noise * abs(step_s))
        return abs(self.by_s - step_s) <= max(_ALIKE * abs(step_s), noise_s)


class Proof:
    """All crossings in both captures' orders, and what the hosts' timestamps say of either capture's clock."""

    def __init__(
        self,
        packets: tuple[Integers, Integers],
        times_ns: tuple[Integers, Integers],
        forward: Booleans,
        hosts: tuple[list[Ticks], list[Ticks]],
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
                cut = next((one for one in self._ticked(end) if self._in_both(one, delay_s, np.inf)), None)
                if cut is None:
                    break
                cuts.append(cut)
                delay_s = delay_s - np.where(cut.behind(*self._packets), np.where(self._forward, 1, -1) * cut.step_s, 0)
                packet, moved_s = self._of_clock(cut, end)
                self._hosts[end] = [one.moved(packet, moved_s) for one in self._hosts[end]]
        beside = self._covered[0] & self._covered[1]
        found = find_cuts(*self._packets, delay_s, self._forward, self._judged, beside)
        return tuple(sorted((*cuts, *found), key=lambda cut: cut.first))

    def _of_clock(self, cut: Cut, end: int) -> tuple[int, float]:
        """The first packet behind it in this end's capture, and by how much this end's clock was set ahead."""
        packet = int(self._packets[end][cut.first])
        return packet, cut.step_s if end else -cut.step_s

    def _ticked(self, end: int) -> Iterator[Cut]:
        """Steps that the host's timestamps show."""
        tried = 0
        for one in self._hosts[end]:
            for last, first in one.jumps(SMALLEST_STEP_S):
                by_s, error_s = one.jump(first)
                tried += 1
                if tried > MOST_TRIED:
                    return
                if abs(by_s) >= SMALLEST_STEP_S and error_s <= _MOST_NOISE * abs(by_s):
                    yield self._cut(end, self._parting(end, last, first, by_s), by_s, error_s)

    def _parting(self, end: int, last: int, first: int, by_s: float) -> int:
        """Where between these packets of this capture, in its order: what the other host sent lies there, too."""
        ordered = self._packets[end][self._orders[end]]
        before, behind = np.searchsorted(ordered, (last, first))
        passed_s = np.diff(self._times_s[end][self._orders[end][before : behind + 1]])
        return int(before) + 1 + int(np.argmax(passed_s if by_s > 0 else -passed_s))

    def _cut(self, end: int, place: int, by_s: float, error_s: float) -> Cut:
        first = int(self._orders[end][place])
        packet = int(self._packets[end][first])
        if end:
            return Cut(first, by_s, "receiver", None, packet, error_s)
        return Cut(first, -by_s, "sender", packet, None, error_s)

    def _in_both(self, cut: Cut, delay_s: Floats, most_noise: float) -> tuple[_Move, _Move] | None:
        """How both directions' delays move there, if they do so oppositely by the step."""
        forth, back = (self._move(cut, delay_s, way) for way in (True, False))
        if forth is None or back is None:
            return None
        shown = forth.shows(cut.step_s, most_noise) and back.shows(-cut.step_s, most_noise)
        return (forth, back) if shown else None

    def _move(self, cut: Cut, delay_s: Floats, way: bool) -> _Move | None:
        end = 0 if cut.sender_packet is not None else 1
        order = self._orders[end]
        ordered = self._packets[end][order]
        place = int(np.searchsorted(ordered, self._packets[end][cut.first]))
        sides = []
        for part in (slice(max(place - 16 * _NEAR, 0), place), slice(place, place + 16 * _NEAR)):
            delays = delay_s[order[part]][self._forward[order[part]] == way]
            delays = delays[-_NEAR:] if part.stop == place else delays[:_NEAR]
            if len(delays) < FEWEST:
                return None
            count = len(delays) // FEWEST * FEWEST
            delays = delays[-count:] if part.stop == place else delays[:count]
            sides.append(delays.reshape(-1, FEWEST).min(axis=1))
        before, behind = sides
        noise_s = max((float(np.abs(np.diff(side)).max()) for side in sides if len(side) > 1), default=0.0)
        return _Move(float(behind[0] - before[-1]), noise_s, (float(before.min()), float(behind.min())))

    def _judged(self, cut: Cut, delay_s: Floats) -> Cut | None:
        """The step, if this is one; of those that no timestamps cover."""
        end = 0 if cut.sender_packet is not None else 1
        if self._covered[end][cut.first] or not self._stays(cut, delay_s):
            return None
        moves = self._in_both(cut, delay_s, _MOST_NOISE)
        if moves is None:
            return None
        step_s = abs(cut.step_s)
        queues_s = self._queues_s(cut, delay_s, end, moves)
        if not self._sharp(cut, end) and not (self._idle(cut, end) and queues_s <= _MOST_NOISE * step_s):
            return None
        (forth, back), clock = moves, cut.clock
        noise_s = max(forth.noise_s, 1e-6), max(back.noise_s, 1e-6)
        near_s = (forth.by_s / noise_s[0] ** 2 - back.by_s / noise_s[1] ** 2) / sum(one**-2 for one in noise_s)
        if clock == "unknown" and self._covered[1 - end][cut.first]:
            clock = "receiver" if end else "sender"
        if queues_s < min(noise_s):
            floors_s = [move.floors_s[1] - move.floors_s[0] for move in moves]
            return replace(cut, step_s=(floors_s[0] - floors_s[1]) / 2, error_s=queues_s, clock=clock)
        return replace(cut, step_s=near_s, error_s=min(noise_s), clock=clock)

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

    def _around(self, cut: Cut, end: int) -> NDArray[np.intp]:
        order = self._orders[end]
        place = int(np.searchsorted(self._packets[end][order], self._packets[end][cut.first]))
        return order[max(place - FEWEST, 0) : place + FEWEST]

    def _sharp(self, cut: Cut, end: int) -> bool:
        """This capture's times run back there, or have a hole that the other's do not have."""
        _, by_s = self._of_clock(cut, end)
        passed_s = np.diff(self._times_s[end][self._around(cut, end)])
        if by_s < 0:
            return bool(passed_s.min() < 0)
        return bool(passed_s.max() >= (1 - _ALIKE) * by_s) and not self._pause(cut, 1 - end, _MOST_NOISE * by_s)

    def _pause(self, cut: Cut, end: int, least_s: float) -> bool:
        passed_s = np.diff(self._times_s[end][self._around(cut, end)])
        return bool(passed_s.max() >= least_s)

    def _idle(self, cut: Cut, end: int) -> bool:
        """Nothing passed there for as long as the step, by the clock that was not set."""
        return self._pause(cut, 1 - end, (1 - _ALIKE) * abs(cut.step_s))

    def _queues_s(self, cut: Cut, delay_s: Floats, end: int, moves: tuple[_Move, _Move]) -> float:
        """How far, by both sides' round trips between the captures, the offset there can be from that of empty queues."""
        order = self._orders[end]
        number = np.arange(len(order)) // _NEAR
        lows = np.full((2, int(number[-1]) + 1), np.inf)
        np.minimum.at(lows, (self._forward[order].astype(np.int64), number), delay_s[order])
        place = int(np.searchsorted(self._packets[end][order], self._packets[end][cut.first])) // _NEAR
        elsewhere = np.abs(np.arange(lows.shape[1]) - place) > 1
        here_s = [moves[0].floors_s[side] + moves[1].floors_s[side] for side in (0, 1)]
        least_s = min(*here_s, float(lows.sum(axis=0)[elsewhere].min(initial=np.inf)))
        return (sum(here_s) - 2 * least_s) / 2
