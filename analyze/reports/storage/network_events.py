"""Events behind the steps of a campaign: what happened to network or service, once over all sizes and directions.

Steps whose dates may be the same belong to one event. Its date is the one that all of them, and the round trips if they
changed, make likely together: the sum of their profile likelihoods, with an interval by Hansen's quantile. Neighbours
that are alike make each series worth less. An event ends where a later one takes its effect back.
Source: B. E. Hansen, Econometrica 68 (2000), table 1: 7.35 for 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.change_points import (
    Change,
    ChangePoint,
    Step,
    fills,
    median_of,
    point_of,
    steps_of,
)
from vmtrace.analyze.reports.storage.packet_facts import PacketFacts
from vmtrace.analyze.reports.storage.requests import Ints, Requests
from vmtrace.analyze.stats.association import autocorrelation
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.tables.schema.typed import one_of

CAUSES = ("front_end", "window", "window_size", "segment_size", "round_trips", "rate", "unknown")
FRONT_END, WINDOW, WINDOW_SIZE, SEGMENT_SIZE, ROUND_TRIPS, RATE, UNKNOWN = CAUSES
_QUANTILE = 7.35
_TAKEN_BACK = 0.15
_MOST_ROUND_TRIPS = 64
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class NetworkEvent:
    """It happened after `last_before_ns` and before `first_after_ns`, with 95 %."""

    last_before_ns: int
    first_after_ns: int
    end_ns: int | None
    """First request after an event that took its effect back; None: it lasted."""
    cause: Annotated[str, one_of(*CAUSES)]
    packets: bool
    """False where none were recorded: RTT and addresses are then those of the log."""
    ratio: float
    """Geometric mean over its steps."""
    changes: tuple[Change, ...]
    explanation: str
    steps: tuple[ChangePoint, ...]


@dataclass(frozen=True, slots=True)
class _Series:
    """What a step is dated by: times, logarithms, and how many neighbours are worth one."""

    times_ns: Ints
    values: Floats
    inflation: float

    def likelihood(self, splits_ns: Ints) -> Floats:
        """Of a step right before each of these times."""
        n = len(self.values)
        sums = np.concatenate([[0.0], np.cumsum(self.values - self.values.mean())])
        before = np.clip(np.searchsorted(self.times_ns, splits_ns), 1, n - 1)
        total = max(float(((self.values - self.values.mean()) ** 2).sum()), _TINY)
        left = np.maximum(total - sums[before] ** 2 * n / (before * (n - before)), _TINY * total)
        likelihood: Floats = -n / 2 * np.log(left / total) / self.inflation
        return likelihood


def network_events(requests: Requests, facts: PacketFacts | None) -> list[NetworkEvent]:
    """All of a run, by time."""
    recorded = facts is not None and facts.seen > 0
    known = facts if facts is not None and recorded else from_log(requests)
    dated = sorted(
        ((_interval(requests, [step], None), step) for step in steps_of(requests, known.rtt_s)), key=lambda one: one[0]
    )
    events = [_event(requests, known, steps, packets=recorded) for steps in _together(dated)]
    return list(_with_ends(events))


def change_points(requests: Requests, facts: PacketFacts | None) -> list[ChangePoint]:
    """The steps of all events, by time."""
    return [step for event in network_events(requests, facts) for step in event.steps]


def from_log(requests: Requests) -> PacketFacts:
    """What is known without packets: the round trips that the kernel measured when it connected."""
    nothing = np.full(len(requests), math.nan)
    return PacketFacts(requests.rtt_s, nothing, nothing, nothing, np.full(len(requests), -1, np.int64))


def _together(dated: Sequence[tuple[tuple[int, int], Step]]) -> Iterator[list[Step]]:
    """Steps whose intervals overlap, one of each size and direction at the most."""
    group: list[Step] = []
    ends_ns = 0
    for (low, high), step in dated:
        kinds = {(one.size_bytes, one.direction) for one in group}
        if group and (low >= ends_ns or (step.size_bytes, step.direction) in kinds):
            yield group
            group = []
        ends_ns = min(ends_ns, high) if group else high
        group.append(step)
    if group:
        yield group


def _interval(requests: Requests, steps: Sequence[Step], rtt_s: Floats | None) -> tuple[int, int]:
    """Start of the last request before, and of the first one after."""
    near = [np.concatenate([one.before[-one.near[0] :], one.after[: one.near[1]]]) for one in steps]
    series = [_series(requests, places, np.log(requests.bps[places])) for places in near]
    times_ns = np.unique(np.concatenate([one.times_ns for one in series]))
    if rtt_s is not None:
        places = np.unique(np.concatenate(near))
        places = places[np.isfinite(rtt_s[places]) & (rtt_s[places] > 0)]
        places = places[np.argsort(requests.start_ns[places], kind="stable")]
        if len(places) >= 4:
            series.append(_series(requests, places, np.log(rtt_s[places])))
    splits_ns = times_ns[1:]
    likelihood = np.sum([one.likelihood(splits_ns) for one in series], axis=0)
    likely = np.flatnonzero(likelihood >= likelihood.max() - _QUANTILE / 2)
    return int(times_ns[likely[0]]), int(splits_ns[likely[-1]])


def _series(requests: Requests, places: Ints, values: Floats) -> _Series:
    """Neighbours that are alike around the best step count as fewer."""
    times_ns = requests.start_ns[places]
    plain = _Series(times_ns, values, 1.0)
    split = int(np.argmax(plain.likelihood(times_ns[1:]))) + 1
    rest = np.concatenate([values[:split] - values[:split].mean(), values[split:] - values[split:].mean()])
    alike = float(autocorrelation(rest, 1)[0]) if len(rest) > 2 else 0.0
    alike = min(max(alike, 0.0), 0.95)
    return _Series(times_ns, values, (1 + alike) / (1 - alike))


def _event(requests: Requests, facts: PacketFacts, steps: Sequence[Step], *, packets: bool) -> NetworkEvent:
    first = [point_of(requests, facts, one, (0, 0)) for one in steps]
    moved = any(change.what == "RTT" for one in first for change in one.changes)
    dated_ns = _interval(requests, steps, facts.rtt_s if moved else None)
    points = tuple(point_of(requests, facts, one, dated_ns) for one in steps)
    changes = {change.what: change for one in points for change in one.changes}
    held = any(_held_by_window(requests, facts, one) for one in steps)
    cause, explanation = _cause(points, changes, packets=packets, held=held, timed=bool(np.isfinite(facts.rtt_s).any()))
    ratio = math.exp(sum(math.log(one.ratio) for one in points) / len(points))
    return NetworkEvent(*dated_ns, None, cause, packets, ratio, tuple(changes.values()), explanation, points)


def _cause(
    points: Sequence[ChangePoint], changes: dict[str, Change], *, packets: bool, held: bool, timed: bool
) -> tuple[str, str]:
    """The first that fits, with a sentence."""
    full = next((one.explanation for one in points if one.explanation is not None), None)
    if "addresses" in changes:
        change = changes["addresses"]
        more = f"; {full}" if full else ""
        return FRONT_END, f"other front ends answered ({change.before} before, {change.after} after){more}"
    if full is not None:
        return WINDOW, full
    for what, cause in (("window scale", WINDOW_SIZE), ("largest window", WINDOW_SIZE), ("segment size", SEGMENT_SIZE)):
        if what in changes and (cause is not WINDOW_SIZE or held):
            return cause, f"the {what} changed from {changes[what].before} to {changes[what].after}"
    trips = next((one for one in map(_round_trips, points) if one is not None), None)
    if "RTT" in changes and trips is not None:
        rtt = changes["RTT"]
        return (
            ROUND_TRIPS,
            f"the RTT changed from {rtt.before} to {rtt.after}, and a request waits for {trips:.1f} of them",
        )
    if packets:
        return RATE, "nothing in the packets changed with it: the rate of the path or of the service did"
    if timed:
        return UNKNOWN, "connection times and addresses stayed as they were"
    return UNKNOWN, "addresses stayed as they were, and the log has no connection times"


def _held_by_window(requests: Requests, facts: PacketFacts, step: Step) -> bool:
    """Whether the window was full on the side of the step where it was the smaller one."""
    sides = [
        (float(np.median(requests.bps[places])), median_of(facts.rtt_s[places]), median_of(facts.window_bytes[places]))
        for places in (step.before, step.after)
    ]
    smaller = min(sides, key=lambda one: math.inf if one[2] is None else one[2])
    return fills(step.size_bytes, *smaller)


def _round_trips(point: ChangePoint) -> float | None:
    """How many of them a request waits for more, or less; None where its time does not move with them."""
    if point.rtt_before_s is None or point.rtt_after_s is None or point.rtt_before_s == point.rtt_after_s:
        return None
    longer_s = 8 * point.size_bytes * (1 / point.after_bps - 1 / point.before_bps)
    trips = longer_s / (point.rtt_after_s - point.rtt_before_s)
    return trips if 0.5 <= trips <= _MOST_ROUND_TRIPS else None


def _with_ends(events: Sequence[NetworkEvent]) -> Iterator[NetworkEvent]:
    for number, event in enumerate(events):
        kinds = {(one.size_bytes, one.direction) for one in event.steps}
        later = (
            one
            for one in events[number + 1 :]
            if kinds & {(step.size_bytes, step.direction) for step in one.steps}
            and abs(math.log(one.ratio * event.ratio)) <= _TAKEN_BACK
        )
        back = next(later, None)
        yield event if back is None else replace(event, end_ns=back.first_after_ns)
