"""The receiver's clock against the sender's: offset with error bar, skew, steps.

One-way delays measured with two clocks are wrong by the offset between them, forward (sender to receiver) by as much as
backward, with the other sign. So the offset lies between the smallest forward delay and minus the smallest backward
one: `offset = (min forward - min backward) / 2`, give or take `(min forward + min backward) / 2`, which no method can
better without knowing how the path's delay is shared between its directions. Skew is the common slope of the lines that
lie under all delays and as close to them as can be (Moon, Skelly, Towsley 1999; by convex hulls, Zhang, Liu, Xia 2002);
a step moves both directions by the same amount, with opposite signs, at the same place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers
from vmtrace.analyze.compare.clock_steps import SMALLEST_STEP_S, Cut
from vmtrace.analyze.compare.host_ticks import MOST_SKEW, Ticks
from vmtrace.analyze.compare.hull import (
    Hull,
    common_slope,
    disagreement,
    feasible_distance,
    fits_one_clock,
    floor_slope,
    floor_slopes,
    lower_hull,
)
from vmtrace.analyze.compare.step_proof import Proof
from vmtrace.analyze.tables.schema.typed import one_of

_SHORTEST_FOR_SKEW_S = 1.0
_FEWEST_FOR_SKEW = 20
_USUAL_SKEW = 100e-6
"""Hosts' clocks rarely differ by more: what is measured counts as far as it is surer than this."""


@dataclass(frozen=True, slots=True)
class Crossings:
    """Packets that both captures saw, in the order of the sender's capture."""

    sender_packet: Integers
    receiver_packet: Integers
    sender_ns: Integers
    receiver_ns: Integers
    forward: Booleans
    """Sent by the sender's end."""

    def __len__(self) -> int:
        """How many."""
        return len(self.forward)


@dataclass(frozen=True, slots=True)
class Step:
    """A clock was set."""

    at_ns: int
    """Sender's clock, at the first packet behind the step."""
    step_s: float
    """By how much the receiver's clock is more ahead of the sender's than before."""
    clock: Annotated[str, one_of("sender", "receiver", "unknown")]
    """Whose clock it was: `sender`, `receiver`, or `unknown`."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How the receiver's clock goes. `ahead_s` is the whole of it."""

    reference_ns: int
    offset_s: float | None
    offset_error_s: float | None
    skew_ppm: float | None
    skew_error_ppm: float | None
    steps: tuple[Step, ...]
    cuts: tuple[Cut, ...]
    why_not: str | None
    """Why something of this is not known."""

    def ahead_s(self, crossings: Crossings) -> Floats:
        """By how much the receiver's clock is ahead at each crossing, 0 where it is not known."""
        since_s = _elapsed_s(crossings, self.cuts, self.reference_ns)
        ahead = (self.offset_s or 0.0) + (self.skew_ppm or 0.0) * 1e-6 * since_s
        for cut, step in zip(self.cuts, self.steps, strict=True):
            ahead = ahead + cut.behind(crossings.sender_packet, crossings.receiver_packet) * step.step_s
        return np.asarray(ahead, np.float64)

    def straightened_ns(self, time_ns: Integers, which: Integers, *, sender: bool) -> Integers:
        """Times of these packets of one capture as if its clock had not been set."""
        times = time_ns[which]
        for cut, step in zip(self.cuts, self.steps, strict=True):
            first = cut.sender_packet if sender else cut.receiver_packet
            if first is not None:
                moved_ns = round(step.step_s * 1e9) * (1 if sender else -1)
                times = times + np.where(which >= first, moved_ns, 0)
        return times


def measure(crossings: Crossings, hosts: tuple[Sequence[Ticks], Sequence[Ticks]] = ((), ())) -> Clock:
    """Set one clock against the other. `hosts`: what the timestamps of the sender's host, and the receiver's, say."""
    if not len(crossings):
        return _unknown(0, "no packet was captured at both ends")
    reference_ns = int(crossings.sender_ns[0])
    forward = crossings.forward
    if forward.all() or not forward.any():
        return _unknown(reference_ns, "packets of one direction only: they do not separate delay from offset")
    delay_s = (crossings.receiver_ns - crossings.sender_ns) * np.where(forward, 1, -1) / 1e9
    packets, times_ns = (
        (crossings.sender_packet, crossings.receiver_packet),
        (crossings.sender_ns, crossings.receiver_ns),
    )
    cuts = Proof(packets, times_ns, forward, hosts).cuts(delay_s)
    while True:
        clock = _fit(crossings, delay_s, cuts, reference_ns)
        # One queue that drains while the other fills moves both directions as a step does, for moments: not over the
        # whole of the time before and after.
        steps = zip(cuts, clock.steps, strict=True)
        real = tuple(cut for cut, step in steps if abs(step.step_s) >= SMALLEST_STEP_S)
        if len(real) == len(cuts):
            return clock
        cuts = real


def _elapsed_s(crossings: Crossings, cuts: tuple[Cut, ...], reference_ns: int) -> Floats:
    """Time since the first packet by the sender's clock; what it was set by is no time that passed."""
    elapsed_s = (crossings.sender_ns - reference_ns) / 1e9
    for cut in cuts:
        if cut.sender_packet is not None:
            behind = cut.behind(crossings.sender_packet, crossings.receiver_packet)
            elapsed_s = elapsed_s + behind * cut.step_s
    return np.asarray(elapsed_s, np.float64)


def _unknown(reference_ns: int, why_not: str) -> Clock:
    return Clock(reference_ns, None, None, None, None, (), (), why_not)


def _fit(crossings: Crossings, delay_s: Floats, cuts: tuple[Cut, ...], reference_ns: int) -> Clock:
    time_s = _elapsed_s(crossings, cuts, reference_ns)
    epoch = np.zeros(len(crossings), np.int64)
    for cut in cuts:
        epoch += cut.behind(crossings.sender_packet, crossings.receiver_packet)
    lines, clouds = [], []
    for number in range(len(cuts) + 1):
        for way, sign in ((True, 1.0), (False, -1.0)):
            chosen = (epoch == number) & (crossings.forward == way)
            if chosen.any():
                clouds.append((sign, time_s[chosen], delay_s[chosen]))
                lines.append((number, sign, lower_hull(*clouds[-1][1:])))
    span_s, fewest = float(np.ptp(time_s)), int(np.bincount(crossings.forward, minlength=2).min())
    measured, why_not = _skew(clouds, lines, span_s, fewest)
    skew = measured[0] if measured else 0.0
    lowest = {(number, sign): hull.lowest(sign * skew) for number, sign, hull in lines}
    offsets = [_offset(lowest.get((number, 1.0)), lowest.get((number, -1.0))) for number in range(len(cuts) + 1)]
    found = _steps(offsets, cuts)
    steps = tuple(
        Step(int(crossings.sender_ns[cut.first]), step_s, cut.clock)
        for cut, (step_s, _) in zip(cuts, found, strict=True)
    )
    # Without its steps the clock is one, and the lowest delays of the whole time tell its offset.
    ahead_s = np.append(0.0, np.cumsum([step.step_s for step in steps]))[epoch]
    first = {
        sign: lower_hull(time_s[chosen], delay_s[chosen] - sign * ahead_s[chosen])
        for sign, chosen in ((1.0, crossings.forward), (-1.0, ~crossings.forward))
    }
    if not fits_one_clock(first[1.0], first[-1.0], MOST_SKEW, SMALLEST_STEP_S):
        why = "the smallest delays of the two directions contradict each other: a clock was set, and when does not show"
        return _unknown(reference_ns, why)
    forward, backward = first[1.0].lowest(skew), first[-1.0].lowest(-skew)
    offset = (forward - backward) / 2
    # Delays are none below nothing: what is less than that is wrong by as much.
    error = abs(forward + backward) / 2 + sum(error_s for _, error_s in found)
    if span_s >= _SHORTEST_FOR_SKEW_S:
        # One offset holds to within all that the clocks can have drifted meanwhile, but for what is known of that.
        unknown_skew = MOST_SKEW if measured is None else measured[1]
        ends_s = float(time_s.min()), float(time_s.max())
        error = max(error, feasible_distance(first[1.0], first[-1.0], (offset, skew), unknown_skew, ends_s))
    return Clock(
        reference_ns,
        offset,
        error,
        None if measured is None else measured[0] * 1e6,
        None if measured is None else measured[1] * 1e6,
        steps,
        cuts,
        why_not,
    )


def _skew(
    clouds: list[tuple[float, Floats, Floats]], lines: list[tuple[int, float, Hull]], span_s: float, fewest: int
) -> tuple[tuple[float, float] | None, str | None]:
    """The skew and its error, or why it is not known."""
    if span_s < _SHORTEST_FOR_SKEW_S or fewest < _FEWEST_FOR_SKEW:
        too = "short" if span_s < _SHORTEST_FOR_SKEW_S else "few packets"
        return None, f"skew: too {too} ({span_s:.3g} s, {fewest} packets in one direction)"
    # What slopes more than any clock is a queue.
    floors = [one for one in floor_slopes(clouds) if abs(one[0]) - one[1] <= MOST_SKEW]
    fits = floor_slope(floors), common_slope([(sign, hull) for _, sign, hull in lines])
    doubtful = [(fit[0], max(fit[1], disagreement(floors, fit[0]))) for fit in fits if fit is not None]
    measured = min(doubtful, key=lambda fit: fit[1], default=None)
    if measured is None or measured[1] > MOST_SKEW:
        return None, "skew: queues on the way change too much to show it"
    slope, error = measured
    likely = slope / (1 + (error / _USUAL_SKEW) ** 2)
    return (likely, error + abs(slope - likely)), None


def _steps(offsets: list[tuple[float, float] | None], cuts: tuple[Cut, ...]) -> list[tuple[float, float]]:
    """Each step and its error: from the offsets before it and behind it, where no queue stood for all that time."""
    least_s = min((one[1] for one in offsets if one is not None), default=0.0)
    found = []
    for before, behind, cut in zip(offsets[:-1], offsets[1:], cuts, strict=True):
        if before is not None and behind is not None:
            error_s = before[1] + behind[1] - 2 * least_s
            if error_s <= cut.error_s:
                found.append((behind[0] - before[0], error_s))
                continue
        found.append((cut.step_s, cut.error_s))
    return found


def _offset(forward: float | None, backward: float | None) -> tuple[float, float] | None:
    if forward is None or backward is None:
        return None
    return (forward - backward) / 2, max((forward + backward) / 2, 0.0)
