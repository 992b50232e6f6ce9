"""Datagrams of two captures, paired by what they hold: exact loss, order and one-way delay of whatever is no TCP.

A datagram is known by its length and its payload, which the path leaves alone. Flows that share datagrams are one flow,
whatever their addresses. Of datagrams that are all alike those that arrived are counted, and no delay is taken.

See docs/report.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vmtrace.analyze.compare import delays
from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers, common, mixed, ranks
from vmtrace.analyze.compare.clock import Clock, Crossings, measure
from vmtrace.analyze.compare.delays import Delays
from vmtrace.analyze.trace import Trace
from vmtrace.analyze.words.document import Record

_NOWHERE = -1
_FEWEST_BYTES = 8
"""Of datagrams of which less was captured nobody can say which is which."""


_SLACK_NS = 1_000_000
"""A capture goes on for so long beyond its last frame, and began so long before its first one."""


class Passed(NamedTuple):
    """The datagrams of one capture, in their order."""

    time_ns: Integers
    digest: Integers
    flow: Integers
    from_client: Booleans
    span_ns: tuple[int, int]
    """First and last frame of the capture, of any protocol."""


@dataclass(frozen=True, slots=True)
class DatagramDirection:
    """What happened to the datagrams that one end sent."""

    sent_datagrams: int
    matched_datagrams: int
    lost_in_network: int
    not_captured: int
    """Arrived, and not in the capture of the end that sent them."""
    outside_capture: int
    """Sent before the first or behind the last frame of the other capture; not in `sent_datagrams`."""
    network_duplicates: int
    reordered: int
    """Arrived behind one that was sent later."""
    one_way_delay: Delays

    @property
    def lost_rate(self) -> float | None:
        """Of those sent."""
        return self.lost_in_network / self.sent_datagrams if self.sent_datagrams else None


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One flow that both captures hold."""

    id: int
    sender_flow: Record
    receiver_flow: Record
    client_at: str
    sender_to_receiver: DatagramDirection
    receiver_to_sender: DatagramDirection

    def directions(self) -> tuple[DatagramDirection, DatagramDirection]:
        """There, and back."""
        return self.sender_to_receiver, self.receiver_to_sender


@dataclass(frozen=True, slots=True)
class Datagrams:
    """All flows, and the clocks that their delays were measured with."""

    flows: tuple[FlowResult, ...]
    clock: Clock
    not_compared: tuple[int, int]
    """Datagrams of either capture beyond those that are kept."""
    warnings: tuple[str, ...]


def compare_datagrams(sender: Trace, receiver: Trace, known_clock: Clock | None) -> Datagrams | None:
    """Pair the datagrams of two captures; None if they were not kept, or no flow is in both.

    `known_clock` is what TCP says of the clocks; without it datagrams of both directions do.
    """
    near, far, not_compared, least = _read(sender, receiver)
    if near is None or far is None or not len(near.time_ns) or not len(far.time_ns):
        return None
    if least is not None and least < _FEWEST_BYTES:
        warning = (
            f"datagrams are not compared: of some {least} bytes of payload were captured, {_FEWEST_BYTES} are needed"
        )
        clock = known_clock or measure(_no_crossings())
        return Datagrams((), clock, not_compared, (warning,))
    work = _Work(near, far)
    if not len(work.pairs):
        return None
    clock = known_clock if known_clock is not None and known_clock.offset_s is not None else measure(work.crossings())
    named = [{one["id"]: one for one in trace.header()["flows"]} for trace in (sender, receiver)]
    alone = [len(np.unique(part.flow)) - len(work.pairs) for part in (near, far)]
    said = f"in one capture only: {alone[0]:,} flows of datagrams of the sender's, {alone[1]:,} of the receiver's"
    warnings: tuple[str, ...] = (said,) if any(alone) else ()
    joined = [one["id"] for flows in named for one in flows.values() if not _is_known(one)]
    if joined:
        several = f"{len(joined):,} flows of datagrams have frames that may hold several (segmentation offload)"
        warnings += (f"{several}, which nothing tells apart: they are not compared",)
    return Datagrams(tuple(work.results(clock, named)), clock, not_compared, warnings)


def _read(sender: Trace, receiver: Trace) -> tuple[Passed | None, Passed | None, tuple[int, int], int | None]:
    """Both captures' datagrams, known by as many bytes as either has of all of them."""
    found = [trace.datagrams() for trace in (sender, receiver)]
    if found[0] is None or found[1] is None:
        return None, None, (0, 0), None
    least = min((one[1] for one in found if one is not None and one[1] is not None), default=None)
    if least is not None and least >= _FEWEST_BYTES:
        found = [trace.datagrams(least) for trace in (sender, receiver)]
    parts = [_passed(trace, one) for trace, one in zip((sender, receiver), found, strict=True)]
    counts = [0 if one is None else one[2] for one in found]
    return parts[0], parts[1], (counts[0], counts[1]), least


def _passed(trace: Trace, found: tuple[list[bytes], int | None, int] | None) -> Passed | None:
    if found is None:
        return None
    times, digests, flows, from_client = found[0]
    inputs = trace.header()["inputs"]
    starts = [one["start_ns"] for one in inputs if one["start_ns"] is not None]
    ends = [one["end_ns"] for one in inputs if one["end_ns"] is not None]
    return Passed(
        np.frombuffer(times, "<i8"),
        np.frombuffer(digests, "<u8").view("<i8"),
        np.frombuffer(flows, "<u4").astype(np.int64),
        np.frombuffer(from_client, "u1").astype(np.bool_),
        (min(starts, default=0), max(ends, default=0)),
    )


def _no_crossings() -> Crossings:
    nothing = np.empty(0, np.int64)
    return Crossings(nothing, nothing, nothing, nothing, np.empty(0, np.bool_))


class _Pair(NamedTuple):
    """A flow of both captures: its numbers, whether the second one takes the other end for the client."""

    near: int
    far: int
    turned: bool


class _Matched(NamedTuple):
    """Of a flow and a direction: places in both captures, and partners in the other one's list."""

    near: Integers
    far: Integers
    partner: Integers
    """Of each of `near` its place in `far`, or nowhere."""
    certain: Booleans
    """Of each of `near`: it has a partner, and no doubt which."""


class _Places:
    """Where the datagrams of each flow are, found without looking at all of them."""

    def __init__(self, passed: Passed) -> None:
        self._from_client = passed.from_client
        self._order = np.argsort(passed.flow, kind="stable")
        self._flows = passed.flow[self._order]

    def of(self, flow: int, *, from_client: bool) -> Integers:
        first, end = (int(np.searchsorted(self._flows, flow, side)) for side in ("left", "right"))
        places = self._order[first:end]
        found: Integers = places[self._from_client[places] == from_client]
        return found


class _Work:
    def __init__(self, near: Passed, far: Passed) -> None:
        self._near, self._far = near, far
        self._near_places, self._far_places = _Places(near), _Places(far)
        self.pairs = _pairs(near, far)
        self._matched = [tuple(self._match(pair, from_client) for from_client in (True, False)) for pair in self.pairs]
        self._client_here = [self._is_client_here(both) for both in self._matched]

    def _match(self, pair: _Pair, from_client: bool) -> _Matched:
        near = self._near_places.of(pair.near, from_client=from_client)
        far = self._far_places.of(pair.far, from_client=from_client != pair.turned)
        ours, theirs = self._near.digest[near], self._far.digest[far]
        keys = [mixed(one, ranks(one)) for one in (ours, theirs)]
        left, right = common(*keys)
        partner = np.full(len(near), _NOWHERE)
        partner[left] = right
        counts, there = _counts(ours, theirs)
        return _Matched(near, far, partner, (partner != _NOWHERE) & (counts == there))

    def _apart_ns(self, one: _Matched) -> Integers:
        sure = np.flatnonzero(one.certain)
        apart: Integers = self._far.time_ns[one.far[one.partner[sure]]] - self._near.time_ns[one.near[sure]]
        return apart

    def _is_client_here(self, both: Sequence[_Matched]) -> bool:
        """The first capture is the client's: what the client sent is seen there first, whatever the clocks say."""
        there, back = (self._apart_ns(one) for one in both)
        if len(there) and len(back):
            return bool(np.median(there) > np.median(back))
        # Of one direction alone: datagrams are lost on their way, and clocks may agree.
        more = [len(one.near) - len(one.far) for one in both]
        lost = more[0] - more[1]
        if lost:
            return lost > 0
        return bool(np.median(there) >= 0) if len(there) else not (len(back) and np.median(back) >= 0)

    def crossings(self) -> Crossings:
        """Pairs of datagrams to set the clocks with."""
        near, far, forward = [], [], []
        for both, client_here in zip(self._matched, self._client_here, strict=True):
            for one, from_client in zip(both, (True, False), strict=True):
                sure = np.flatnonzero(one.certain)
                near.append(one.near[sure])
                far.append(one.far[one.partner[sure]])
                forward.append(np.full(len(sure), from_client == client_here))
        ours, theirs, ways = np.concatenate(near), np.concatenate(far), np.concatenate(forward)
        order = np.argsort(ours, kind="stable")
        ours, theirs = ours[order], theirs[order]
        return Crossings(ours, theirs, self._near.time_ns[ours], self._far.time_ns[theirs], ways[order])

    def results(self, clock: Clock, named: Sequence[dict[int, Record]]) -> list[FlowResult]:
        found: list[FlowResult] = []
        for pair, both, client_here in zip(self.pairs, self._matched, self._client_here, strict=True):
            there, back = both if client_here else both[::-1]
            flows = named[0].get(pair.near), named[1].get(pair.far)
            if flows[0] is None or flows[1] is None:
                continue  # beyond those that are listed
            if not _is_known(flows[0]) or not _is_known(flows[1]):
                continue
            result = FlowResult(
                len(found) + 1,
                flows[0],
                _turned(flows[1]) if pair.turned else flows[1],
                "sender" if client_here else "receiver",
                self._direction(there, clock, forward=True),
                self._direction(back, clock, forward=False),
            )
            found.append(result)
        return found

    def _direction(self, one: _Matched, clock: Clock, *, forward: bool) -> DatagramDirection:
        mates = one.partner[one.partner != _NOWHERE]
        here = np.flatnonzero(one.partner != _NOWHERE)
        delay_s = self._delays(one, clock, forward=forward)
        if forward:
            sent, arrived, from_capture, to_capture = one.near, one.far, self._near, self._far
            sent_known, arrived_known, order = here, mates, mates
        else:
            sent, arrived, from_capture, to_capture = one.far, one.near, self._far, self._near
            sent_known, arrived_known = mates, here
            order = here[np.argsort(mates, kind="stable")]
        missing = np.ones(len(sent), np.bool_)
        missing[sent_known] = False
        shortest_s = float(delay_s.min()) if len(delay_s) else 0.0
        ahead_s = _ahead_s(clock, from_capture.time_ns[sent]) if clock.offset_s is not None else np.zeros(len(sent))
        due_ns = from_capture.time_ns[sent] + np.round((ahead_s if forward else -ahead_s) * 1e9) + shortest_s * 1e9
        first_ns, last_ns = to_capture.span_ns
        # Without an offset nobody knows which time of one capture is which of the other.
        known = clock.offset_s is not None
        outside = missing & known & ((due_ns < first_ns - _SLACK_NS) | (due_ns > last_ns + _SLACK_NS))
        more = np.ones(len(arrived), np.bool_)
        more[arrived_known] = False
        copies = more & np.isin(to_capture.digest[arrived], from_capture.digest[sent])
        unseen = more & ~copies
        lost = int((missing & ~outside).sum())
        matched = len(mates)
        return DatagramDirection(
            sent_datagrams=matched + lost + int(unseen.sum()),
            matched_datagrams=matched,
            lost_in_network=lost,
            not_captured=int(unseen.sum()),
            outside_capture=int(outside.sum()),
            network_duplicates=int(copies.sum()),
            reordered=_overtaken(order),
            one_way_delay=delays.summary(delay_s if clock.offset_s is not None else delay_s[:0]),
        )

    def _delays(self, one: _Matched, clock: Clock, *, forward: bool) -> Floats:
        sure = np.flatnonzero(one.certain)
        ahead_s = _ahead_s(clock, self._near.time_ns[one.near[sure]])
        apart_s = self._apart_ns(one) / 1e9 - ahead_s
        found: Floats = apart_s if forward else -apart_s
        return found


def _is_known(flow: Record) -> bool:
    """What each datagram holds is known: no frame may hold several."""
    return all(flow[way]["datagrams"] is not None for way in ("client_to_server", "server_to_client"))


def _turned(flow: Record) -> Record:
    """The other end taken for the client, as the first capture does."""
    return flow | {"client": flow["server"], "server": flow["client"]}


def _ahead_s(clock: Clock, time_ns: Integers) -> Floats:
    """By how much the receiver's clock is ahead then; steps count from their time on."""
    ahead = (clock.offset_s or 0.0) + (clock.skew_ppm or 0.0) * 1e-6 * (time_ns - clock.reference_ns) / 1e9
    for step in clock.steps:
        ahead = ahead + (time_ns >= step.at_ns) * step.step_s
    return np.asarray(ahead, np.float64)


def _pairs(near: Passed, far: Passed) -> list[_Pair]:
    """Flows that share datagrams which either capture holds once."""
    left, right = common(near.digest, far.digest)
    votes: dict[tuple[int, int], list[int]] = {}
    for ours, theirs, same in zip(
        near.flow[left].tolist(),
        far.flow[right].tolist(),
        (near.from_client[left] == far.from_client[right]).tolist(),
        strict=True,
    ):
        count = votes.setdefault((ours, theirs), [0, 0])
        count[same] += 1
    found: dict[int, _Pair] = {}
    taken = set[int]()
    for (ours, theirs), (turned, same) in sorted(votes.items(), key=lambda one: (-sum(one[1]), one[0])):
        if ours not in found and theirs not in taken:
            found[ours] = _Pair(ours, theirs, turned > same)
            taken.add(theirs)
    return [found[number] for number in sorted(found)]


def _counts(ours: Integers, theirs: Integers) -> tuple[Integers, Integers]:
    """How often the value of each of `ours` is in `ours`, and in `theirs`."""
    values, number = np.unique(ours, return_inverse=True)
    here = np.bincount(number, minlength=len(values))
    ordered = np.sort(theirs)
    there = np.searchsorted(ordered, values, "right") - np.searchsorted(ordered, values, "left")
    return here[number], there[number]


def _overtaken(order: Integers) -> int:
    """Places, in the order of sending, that stand behind a later sent one."""
    return int((order < np.maximum.accumulate(order)).sum()) if len(order) else 0
