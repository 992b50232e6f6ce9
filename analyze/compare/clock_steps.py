"""Where a clock was set: both directions' smallest delays move at the same place, by the same amount, oppositely.

Looked for in the order of each capture in turn, because a step cuts the packets cleanly in the order in which the clock
that was set stamped them, and blurred by those under way in the other's. A queue that fills or drains moves one
direction alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers

_BLOCK = 16
"""Packets whose smallest delay is taken, at the least."""
_MOST_BLOCKS = 4000
_BLOCKS_AROUND = 4
SMALLEST_STEP_S = 0.001
_DISAGREEMENT = 0.25
"""The directions' moves differ by at most this share of the step."""
_MOST_STEPS = 100
_BELOW_COUNTS = 10
_PLAIN_SHARE = 0.5
"""An order is cleaner if less of it is misplaced, by this share of the step and of what is misplaced in it itself."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A step, and which packets lie behind it."""

    first: int
    """Index of the first crossing behind it."""
    step_s: float
    clock: str
    sender_packet: int | None
    """The first packet behind it in the order of the sender's capture; None if it is cut in the receiver's order."""
    receiver_packet: int | None

    def behind(self, sender_packet: Integers, receiver_packet: Integers) -> Booleans:
        """True for the packets behind the step."""
        if self.sender_packet is not None:
            return sender_packet >= self.sender_packet
        return receiver_packet >= (self.receiver_packet or 0)


def find_cuts(
    sender_packet: Integers, receiver_packet: Integers, delay_s: Floats, forward: Booleans
) -> tuple[Cut, ...]:
    """All steps, in the order of the sender's capture. `delay_s` is forward or backward, as the clocks say."""
    delay_s = delay_s.copy()
    cuts: list[Cut] = []
    while len(cuts) < _MOST_STEPS:
        found = [
            _largest(np.argsort(order, kind="stable"), delay_s, forward) for order in (sender_packet, receiver_packet)
        ]
        steps = [step for step in found if step is not None]
        if not steps:
            break
        # The order in which the cut is cleaner is that of the clock that was set.
        best = min(steps, key=lambda step: step.misplaced_s)
        by_sender = best is found[0]
        others = [step.misplaced_s for step in steps if step is not best]
        plain_s = max(_PLAIN_SHARE * abs(best.step_s), _PLAIN_SHARE * best.misplaced_s)
        doubtful = bool(others) and others[0] - best.misplaced_s < plain_s
        clock = "unknown" if doubtful else "sender" if by_sender else "receiver"
        first = int(best.first)
        cut = Cut(
            first,
            best.step_s,
            clock,
            int(sender_packet[first]) if by_sender else None,
            None if by_sender else int(receiver_packet[first]),
        )
        cuts.append(cut)
        delay_s -= np.where(cut.behind(sender_packet, receiver_packet), np.where(forward, 1, -1) * cut.step_s, 0.0)
    return tuple(sorted(cuts, key=lambda cut: cut.first))


@dataclass(frozen=True, slots=True)
class _Found:
    first: int
    step_s: float
    misplaced_s: float
    """Sum of by how much packets would fit better on the other side of the cut."""


def _largest(order: NDArray[np.intp], delay_s: Floats, forward: Booleans) -> _Found | None:
    """The largest step in this order of the packets."""
    count = len(order)
    block = max(_BLOCK, count // _MOST_BLOCKS)
    blocks = -(-count // block)
    if blocks < 3:
        return None
    number = np.arange(count) // block
    lows = np.full((2, blocks), np.inf)
    np.minimum.at(lows, (forward[order].astype(np.int64), number), delay_s[order])
    before, after = _lows_before_and_after(lows)
    with np.errstate(invalid="ignore"):
        moved_back, moved_forth = after - before
        step = (moved_forth - moved_back) / 2
        fits = np.abs(moved_forth + moved_back) / 2 <= _DISAGREEMENT * np.abs(step)
    size = np.where(fits & np.isfinite(step), np.abs(step), 0.0)
    best = int(np.argmax(size))
    if size[best] < SMALLEST_STEP_S:
        return None
    around = slice(max(best + 1 - _BLOCKS_AROUND, 0) * block, (best + 2 + _BLOCKS_AROUND) * block)
    return _refined(order[around], delay_s, forward, (before[:, best], after[:, best]), float(step[best]))


def _lows_before_and_after(lows: Floats) -> tuple[Floats, Floats]:
    """Of each block with neighbours, the lowest of the few blocks before it, and of those after it.

    The block itself is left out: with a step in the midst of it, it has the lower level of each direction.
    """
    inner = lows.shape[1] - 2
    before, after = (np.full((2, inner), np.inf) for _ in range(2))
    for away in range(min(_BLOCKS_AROUND, inner)):
        before[:, away:] = np.minimum(before[:, away:], lows[:, : inner - away])
        after[:, : inner - away] = np.minimum(after[:, : inner - away], lows[:, 2 + away :])
    return before, after


def _refined(
    order: NDArray[np.intp], delay_s: Floats, forward: Booleans, floors_s: tuple[Floats, Floats], step_s: float
) -> _Found:
    """The place among these packets that parts the two levels best."""
    way = forward[order].astype(np.int64)
    wrong_before, wrong_after = (_wrong(delay_s[order] - floor_s[way]) for floor_s in floors_s)
    cost = np.append(0.0, np.cumsum(wrong_before - wrong_after)) + wrong_after.sum()
    place = min(int(np.argmin(cost)), len(order) - 1)
    better_after, better_before = wrong_before[:place] - wrong_after[:place], wrong_after[place:] - wrong_before[place:]
    misplaced = np.clip(np.append(better_after, better_before), 0.0, abs(step_s))
    return _Found(int(order[place]), step_s, float(misplaced.sum()))


def _wrong(above_s: Floats) -> Floats:
    """How unlikely it is that packets so far above the smallest delay belong there: below it, very much so."""
    wrong: Floats = np.where(above_s < 0, -_BELOW_COUNTS * above_s, above_s)
    return wrong
