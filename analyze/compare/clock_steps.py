"""Where a clock may have been set: both directions' smallest delays move at one place, by the same amount, oppositely.

Looked for in the order of each capture in turn, because a step cuts the packets cleanly in the order in which the clock
that was set stamped them, and blurred by those under way in the other's. Queues move delays oppositely, too, for a
while: `step_proof` says what is a step.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers

_BLOCK = 16
"""Packets whose smallest delay is taken, at the least."""
_MOST_BLOCKS = 4000
BLOCKS_AROUND = 4
SMALLEST_STEP_S = 0.001
_DISAGREEMENT = 0.25
"""The directions' moves differ by at most this share of the step."""
MOST_STEPS = 100
MOST_TRIED = 500
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
    error_s: float = np.inf
    """How far `step_s` may be wrong, where something near the step says it."""

    def behind(self, sender_packet: Integers, receiver_packet: Integers) -> Booleans:
        """True for the packets behind the step."""
        if self.sender_packet is not None:
            return sender_packet >= self.sender_packet
        return receiver_packet >= (self.receiver_packet or 0)


Judge = Callable[[Cut, Floats], Cut | None]
"""Says of a cut, and of delays with earlier cuts taken out, what it is for certain; None if it is none."""


def find_cuts(
    sender_packet: Integers,
    receiver_packet: Integers,
    delay_s: Floats,
    forward: Booleans,
    judge: Judge = lambda cut, _: cut,
    covered_by_both: Booleans | None = None,
) -> tuple[Cut, ...]:
    """All steps, in the order of the sender's capture. `delay_s` is forward or backward, as the clocks say.

    None is looked for `beside`: where something better says whether there are any.
    """
    orders = sender_packet, receiver_packet
    sorted_orders = [np.argsort(order, kind="stable") for order in orders]
    cuts: list[Cut] = []
    while len(cuts) < MOST_STEPS:
        tried = _candidates(orders, sorted_orders, delay_s, forward, covered_by_both)
        cut = next((one for one in (judge(one, delay_s) for one in tried) if one is not None), None)
        if cut is None:
            break
        cuts.append(cut)
        delay_s = delay_s - np.where(cut.behind(*orders), np.where(forward, 1, -1) * cut.step_s, 0.0)
    return tuple(sorted(cuts, key=lambda cut: cut.first))


def _candidates(
    orders: tuple[Integers, Integers],
    sorted_orders: list[NDArray[np.intp]],
    delay_s: Floats,
    forward: Booleans,
    covered_by_both: Booleans | None,
) -> Iterator[Cut]:
    """What may be steps, the largest first."""
    rows = [_steps(order, delay_s, forward, covered_by_both) for order in sorted_orders]
    heads = [next(row, None) for row in rows]
    for _ in range(MOST_TRIED):
        steps = [step for step in heads if step is not None]
        if not steps:
            return
        # The order in which the cut is cleaner is that of the clock that was set.
        best = min(steps, key=lambda step: step.misplaced_s)
        by_sender = best is heads[0]
        others = [step.misplaced_s for step in steps if step is not best]
        plain_s = max(_PLAIN_SHARE * abs(best.step_s), _PLAIN_SHARE * best.misplaced_s)
        doubtful = bool(others) and others[0] - best.misplaced_s < plain_s
        clock = "unknown" if doubtful else "sender" if by_sender else "receiver"
        packet = int(orders[0 if by_sender else 1][best.first])
        yield Cut(best.first, best.step_s, clock, *((packet, None) if by_sender else (None, packet)))
        which = 0 if by_sender else 1
        heads[which] = next(rows[which], None)


@dataclass(frozen=True, slots=True)
class _Found:
    first: int
    step_s: float
    misplaced_s: float
    """Sum of by how much packets would fit better on the other side of the cut."""


def _steps(
    order: NDArray[np.intp], delay_s: Floats, forward: Booleans, covered_by_both: Booleans | None
) -> Iterator[_Found]:
    """Steps in this order of the packets, the largest first."""
    count = len(order)
    block = max(_BLOCK, count // _MOST_BLOCKS)
    blocks = -(-count // block)
    if blocks < 3:
        return
    number = np.arange(count) // block
    lows = np.full((2, blocks), np.inf)
    np.minimum.at(lows, (forward[order].astype(np.int64), number), delay_s[order])
    before, after = lows_before_and_after(lows)
    with np.errstate(invalid="ignore"):
        moved_back, moved_forth = after - before
        step = (moved_forth - moved_back) / 2
        fits = np.abs(moved_forth + moved_back) / 2 <= _DISAGREEMENT * np.abs(step)
    size = np.where(fits & np.isfinite(step), np.abs(step), 0.0)
    if covered_by_both is not None:
        size[covered_by_both[order[block : (blocks - 1) * block : block]]] = 0.0
    for best in np.argsort(-size, kind="stable"):
        if size[best] < SMALLEST_STEP_S:
            return
        around = slice(max(best + 1 - BLOCKS_AROUND, 0) * block, (best + 2 + BLOCKS_AROUND) * block)
        yield _refined(order[around], delay_s, forward, (before[:, best], after[:, best]), float(step[best]))


def lows_before_and_after(lows: Floats) -> tuple[Floats, Floats]:
    """Of each block with neighbours, the lowest of the few blocks before it, and of those after it.

    The block itself is left out: with a step in the midst of it, it has the lower level of each direction.
    """
    inner = lows.shape[1] - 2
    before, after = (np.full((len(lows), inner), np.inf) for _ in range(2))
    for away in range(min(BLOCKS_AROUND, inner)):
        before[:, away:] = np.minimum(before[:, away:], lows[:, : inner - away])
        after[:, : inner - away] = np.minimum(after[:, : inner - away], lows[:, 2 + away :])
    return before, after


def _refined(
    order: NDArray[np.intp], delay_s: Floats, forward: Booleans, floors_s: tuple[Floats, Floats], step_s: float
) -> _Found:
    """The place among these packets that parts the two levels best."""
    way = forward[order].astype(np.int64)
    wrong_before, wrong_after = (_wrong(delay_s[order] - floor_s[way]) for floor_s in floors_s)
    place = min(_cheapest(wrong_before, wrong_after), len(order) - 1)
    better_after, better_before = wrong_before[:place] - wrong_after[:place], wrong_after[place:] - wrong_before[place:]
    misplaced = np.clip(np.append(better_after, better_before), 0.0, abs(step_s))
    return _Found(int(order[place]), step_s, float(misplaced.sum()))


def parting(above_before_s: Floats, above_after_s: Floats) -> int:
    """How many of these packets, that lie so far above either level, belong to the first."""
    return _cheapest(_wrong(above_before_s), _wrong(above_after_s))


def _cheapest(wrong_before: Floats, wrong_after: Floats) -> int:
    return int(np.argmin(np.append(0.0, np.cumsum(wrong_before - wrong_after))))


def _wrong(above_s: Floats) -> Floats:
    """How unlikely it is that packets so far above the smallest delay belong there: below it, very much so."""
    wrong: Floats = np.where(above_s < 0, -_BELOW_COUNTS * above_s, above_s)
    return wrong
