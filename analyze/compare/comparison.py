"""The whole comparison in order: read, pair, cut, match, judge, set the clocks, locate pauses. Owns the result.

`compare(sender, receiver)` takes two traces that were read and gives a `Comparison`; documents, tables and figures are
made from that by the other modules.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from vmtrace.analyze.compare import delays
from vmtrace.analyze.compare.arrays import Floats, Integers
from vmtrace.analyze.compare.clock import Clock, Crossings, measure
from vmtrace.analyze.compare.datagrams import Datagrams, FlowResult, compare_datagrams
from vmtrace.analyze.compare.delays import Delays
from vmtrace.analyze.compare.gaps import End, Gap, locate
from vmtrace.analyze.compare.host_ticks import Ticks
from vmtrace.analyze.compare.losses import Direction, Fate, Side, judge_pair
from vmtrace.analyze.compare.matching import NOWHERE, Matching, match
from vmtrace.analyze.compare.packets import read_packets
from vmtrace.analyze.compare.pairing import Paired, pair
from vmtrace.analyze.compare.segments import cut, segment_sizes
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.tables.schema.typed import Count
from vmtrace.analyze.trace import Trace
from vmtrace.analyze.words.document import Record


class NothingInCommonError(Exception):
    """No connection is in both captures; the message says what is there instead."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One of the two inputs."""

    path: str
    """As given."""
    connections: Count
    """TCP connections in it."""
    packets: Count
    """Frames in it."""
    start_ns: int | None
    """First frame."""
    end_ns: int | None
    """Last frame."""
    dropped: Count | None
    """Packets that the capture itself says it missed."""
    damage: str | None
    """The first place of its files that cannot be read, and how many more there are; None if there is none."""


@dataclass(frozen=True, slots=True)
class DirectionResult:
    """What happened to the segments that one end sent: wire segments of all kinds, if nothing else is said."""

    sent_segments: int
    matched_segments: int
    lost_in_network: int
    sent_data_segments: int
    lost_data_segments: int
    lost_data_bytes: int
    not_captured_by_sender: int
    not_captured_by_receiver: int
    undecided_segments: int
    """Not in the receiving end's capture, for a reason that cannot be known."""
    outside_capture: int
    """Seen at one end while the other one was not captured; not in `sent_segments`."""
    network_duplicates: int
    one_way_delay: Delays
    gaps: tuple[Gap, ...]
    delay_time_s: Floats
    """For figures: when each delay was measured, since the comparison's start by the sender's clock."""
    delay_s: Floats
    sent_time_s: Floats
    """For figures: when each data packet was sent, and when one arrived."""
    arrived_time_s: Floats

    @property
    def not_captured(self) -> int:
        """At either end."""
        return self.not_captured_by_sender + self.not_captured_by_receiver

    @property
    def lost_rate(self) -> float | None:
        """Of the segments whose fate is known, those that were lost."""
        known = self.sent_segments - self.undecided_segments
        return self.lost_in_network / known if known > 0 else None


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """One connection that both captures hold."""

    id: int
    sender_connection: int
    receiver_connection: int
    sender_client: str
    sender_server: str
    receiver_client: str
    receiver_server: str
    client_at: str
    sequences_rewritten: bool
    matched_packets: int
    sender_to_receiver: DirectionResult
    receiver_to_sender: DirectionResult

    @property
    def addresses_rewritten(self) -> bool:
        """A NAT is between the captures."""
        here, there = (self.sender_client, self.sender_server), (self.receiver_client, self.receiver_server)
        return here not in (there, there[::-1])

    def directions(self) -> tuple[DirectionResult, DirectionResult]:
        """There, and back."""
        return self.sender_to_receiver, self.receiver_to_sender


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that two captures say of each other."""

    sender: Capture
    receiver: Capture
    clock: Clock
    connections: tuple[ConnectionResult, ...]
    total: tuple[DirectionResult, DirectionResult]
    warnings: tuple[str, ...]
    flows: tuple[FlowResult, ...] = ()
    """Of datagrams, if they were kept."""
    findings: tuple[Finding, ...] = ()
    """What held its connections back, as far as that was asked for (`compare.findings`)."""
    findings_of: Literal["sender", "receiver"] = "sender"
    """The capture whose connections and frames they name."""
    finding_lines: tuple[str, ...] = ()
    """The same for people; where nothing was found and nothing was lost, that nothing was."""

    @property
    def matched_packets(self) -> int:
        """Wire segments of all connections, both ways, that both captures hold."""
        return sum(one.matched_packets for one in self.connections)


def compare(sender: Trace, receiver: Trace) -> Comparison:
    """Match two captures of the same transfers, one from each end. Raises `NothingInCommonError`."""
    paired = pair(read_packets(sender), read_packets(receiver))
    captures = _capture(sender), _capture(receiver)
    if not len(paired):
        return _without_tcp(sender, receiver, captures)
    work = _Work(sender, receiver, paired)
    clock = measure(work.crossings, work.timestamps())
    connections = work.connections(clock)
    warnings = _warnings(captures, clock, len(paired))
    datagrams = compare_datagrams(sender, receiver, clock)
    flows, more = ((), ()) if datagrams is None else (datagrams.flows, _said_of(datagrams))
    return Comparison(*captures, clock, connections, _totals(connections), (*warnings, *more), flows)


def _without_tcp(sender: Trace, receiver: Trace, captures: tuple[Capture, Capture]) -> Comparison:
    datagrams = compare_datagrams(sender, receiver, None)
    if datagrams is None:
        raise NothingInCommonError(_nothing_in_common(*captures))
    warnings = *_warnings(captures, datagrams.clock, 0), *_said_of(datagrams)
    return Comparison(*captures, datagrams.clock, (), _totals(()), warnings, datagrams.flows)


def _said_of(datagrams: Datagrams) -> tuple[str, ...]:
    here, there = datagrams.not_compared
    beyond = f"datagrams beyond those that are kept: {here:,} of the sender's, {there:,} of the receiver's"
    return datagrams.warnings + ((beyond,) if here or there else ())


def _capture(trace: Trace) -> Capture:
    inputs = trace.header()["inputs"]
    drops = [one["capture"][key] for one in inputs for key in ("dropped_by_kernel", "dropped_by_interface")]
    known = [count for count in drops if count is not None]
    starts = [one["start_ns"] for one in inputs if one["start_ns"] is not None]
    ends = [one["end_ns"] for one in inputs if one["end_ns"] is not None]
    return Capture(
        ", ".join(trace.paths),
        len(trace),
        sum(one["packets"] for one in inputs),
        min(starts, default=None),
        max(ends, default=None),
        sum(known) if known else None,
        _damage([place for one in inputs for place in one["damage"]]),
    )


def _damage(places: Sequence[Record]) -> str | None:
    if not places:
        return None
    more = f" (and {len(places) - 1:,} more places)" if places[1:] else ""
    return f"{places[0]['what']}, at byte {places[0]['offset']:,}{more}"


def _nothing_in_common(sender: Capture, receiver: Capture) -> str:
    empty = [one.path for one in (sender, receiver) if not one.connections]
    if empty:
        return f"{' and '.join(empty)}: no TCP connection in it, and no datagram that is in both"
    there = f"{sender.path} has {sender.connections:,}, {receiver.path} has {receiver.connections:,}"
    apart = ""
    if sender.start_ns and sender.end_ns and receiver.start_ns and receiver.end_ns:
        away_s = max(receiver.start_ns - sender.end_ns, sender.start_ns - receiver.end_ns) / 1e9
        apart = f", taken {away_s:.0f} s apart by their clocks" if away_s > 1 else ""
    return (
        f"no connection is in both captures ({there}{apart}): give the captures of both ends of the same transfers"
        " (a proxy in between opens connections of its own)"
    )


class _Work:
    """The arrays all steps share."""

    def __init__(self, sender: Trace, receiver: Trace, paired: Paired) -> None:
        self._traces = sender, receiver
        self.paired = paired
        self._sizes = segment_sizes(paired.sender, paired.receiver, self._offered())
        self._ours, self._theirs = (cut(part, self._sizes) for part in (paired.sender, paired.receiver))
        self._matching: Matching = match(
            paired.sender, self._ours, paired.receiver, self._theirs, paired.client_at_sender
        )
        outward = self._ours.from_client == paired.client_at_sender[self._ours.pair]
        self.crossings: Crossings
        self.crossings, self._crossing_pair = delays.crossings(
            paired.sender, self._ours, paired.receiver, self._theirs, self._matching, outward
        )
        self._limits = self._of_pairs("spacing_oversize_threshold_s")
        ours, theirs = self._of_pairs("loss_network_duplicates")
        self._copies = np.nan_to_num(ours), np.nan_to_num(theirs)

    def timestamps(self) -> tuple[list[Ticks], list[Ticks]]:
        """What the hosts' timestamps say of either capture's clock."""
        return delays.timestamps(self.paired.sender, self.paired.receiver, self.crossings, self._crossing_pair)

    def _of_pairs(self, name: str) -> tuple[Floats, Floats]:
        """A number of each pair by both captures, of both directions, the client's by the sender's capture first.

        NaN where there is none.
        """
        names = [f"client_to_server_{name}", f"server_to_client_{name}"]
        numbers = self.paired.sender_connections, self.paired.receiver_connections
        found = []
        for trace, which in zip(self._traces, numbers, strict=True):
            trace.load(names)
            found.append(np.array([trace.values(column) for column in names], np.float64).T.reshape(-1, 2)[which - 1])
        ours, theirs = found
        return ours, np.where(self.paired.swapped[:, None], theirs[:, ::-1], theirs)

    def _offered(self) -> Integers:
        return np.nan_to_num(np.stack(self._of_pairs("segment_size_bytes"))).astype(np.int64)

    def connections(self, clock: Clock) -> tuple[ConnectionResult, ...]:
        paired, matching = self.paired, self._matching
        near = Side(paired.sender, self._ours, matching.at_receiver, matching.copies_at_sender)
        far = Side(paired.receiver, self._theirs, matching.at_sender, matching.copies_at_receiver)
        ahead_s = clock.ahead_s(self.crossings)
        shared = _Shared(near, far, clock, self.crossings, delays.true_delays(self.crossings, ahead_s))
        numbers = (
            self._ours.pair,
            self._theirs.pair,
            paired.sender.connection,
            paired.receiver.connection,
            self._crossing_pair,
        )
        parts = (_Part(*arrays) for arrays in zip(*(_grouped(one, len(paired)) for one in numbers), strict=True))
        return tuple(self._connection(number, shared, part) for number, part in enumerate(parts))

    def _connection(self, number: int, shared: "_Shared", part: "_Part") -> ConnectionResult:
        paired, crossings = self.paired, part.crossings
        client_here = bool(paired.client_at_sender[number])
        here, there = int(paired.sender_connections[number]), int(paired.receiver_connections[number])
        forward = judge_pair(shared.near, shared.far, part.ours, part.theirs, client_here)
        backward = judge_pair(shared.far, shared.near, part.theirs, part.ours, not client_here)
        ends = shared.ends(part, client_here, (forward, backward))
        side = 0 if client_here else 1
        limits = [of_pair[number] for of_pair in self._limits]
        # Copies that came at once are not among the engine's packets: it counted them.
        copies = self._copies[1][number][side], self._copies[0][number][1 - side]
        gaps = (
            _gaps(*ends[0], limits[0][side], limits[1][side]),
            _gaps(*ends[1], limits[1][1 - side], limits[0][1 - side]),
        )
        directions = (
            shared.result(forward, True, crossings, int(copies[0]), gaps[0]),
            shared.result(backward, False, crossings, int(copies[1]), gaps[1]),
        )
        names = [
            (trace.values("client")[which - 1], trace.values("server")[which - 1])
            for trace, which in zip(self._traces, (here, there), strict=True)
        ]
        return ConnectionResult(
            number + 1,
            here,
            there,
            *names[0],
            *names[1],
            "sender" if client_here else "receiver",
            bool(paired.rewritten_sequences[number]),
            directions[0].matched_segments + directions[1].matched_segments,
            *directions,
        )


class _Part(NamedTuple):
    """What of the shared arrays is of one connection: places of its segments, packets and crossings."""

    ours: Integers
    theirs: Integers
    our_packets: Integers
    their_packets: Integers
    crossings: Integers


def _grouped(numbers: Integers, count: int) -> list[Integers]:
    """Places of each number, in order."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, count))) if count else []


def _gaps(near: End, far: End, near_limit_s: float, far_limit_s: float) -> tuple[Gap, ...]:
    limits = (None if np.isnan(limit) else float(limit) for limit in (near_limit_s, far_limit_s))
    return tuple(locate(near, far, *limits))


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all connections' results are taken from."""

    near: Side
    far: Side
    clock: Clock
    crossings: Crossings
    delay_s: Floats

    def result(
        self, judged: Direction, forward: bool, crossings: Integers, copies: int, gaps: tuple[Gap, ...]
    ) -> DirectionResult:
        """Counts and delays of one direction."""
        near, far = (self.near, self.far) if forward else (self.far, self.near)
        way = crossings[self.crossings.forward[crossings] == forward]
        payload = near.segments.payload_bytes[judged.sent]
        lost, sent = judged.fates == Fate.LOST, judged.fates != Fate.OUTSIDE
        unseen = judged.arrived[judged.not_captured_by_sender]
        origin_ns = self.clock.reference_ns
        return DirectionResult(
            sent_segments=int(sent.sum()) + len(unseen),
            matched_segments=int((judged.fates == Fate.ARRIVED).sum()),
            lost_in_network=int(lost.sum()),
            sent_data_segments=int((sent & (payload > 0)).sum() + (far.segments.payload_bytes[unseen] > 0).sum()),
            lost_data_segments=int((lost & (payload > 0)).sum()),
            lost_data_bytes=int(payload[lost].sum()),
            not_captured_by_sender=len(unseen),
            not_captured_by_receiver=int((judged.fates == Fate.NOT_CAPTURED).sum()),
            undecided_segments=int((judged.fates == Fate.UNKNOWN).sum()),
            outside_capture=int((judged.fates == Fate.OUTSIDE).sum() + judged.outside.sum()),
            network_duplicates=max(int(far.copies[judged.arrived].sum()), copies),
            one_way_delay=delays.summary(self.delay_s[way] if self.clock.offset_s is not None else self.delay_s[:0]),
            gaps=gaps,
            delay_time_s=(self.crossings.sender_ns[way] - origin_ns) / 1e9,
            delay_s=self.delay_s[way],
            sent_time_s=self._data_times_s(judged.sent, at_sender=forward),
            arrived_time_s=self._data_times_s(judged.arrived, at_sender=not forward),
        )

    def _data_times_s(self, segments: Integers, *, at_sender: bool) -> Floats:
        """Times of data packets, each once, by the sender's clock (to within skew)."""
        side = self.near if at_sender else self.far
        packets = np.unique(side.segments.packet[segments[side.segments.payload_bytes[segments] > 0]])
        time_ns = self.clock.straightened_ns(side.packets.time_ns, packets, sender=at_sender)
        ahead_s = 0.0 if at_sender else self.clock.offset_s or 0.0
        times: Floats = (time_ns - self.clock.reference_ns) / 1e9 - ahead_s
        return times

    def ends(
        self, part: "_Part", client_here: bool, judged: tuple[Direction, Direction]
    ) -> tuple[tuple[End, End], tuple[End, End]]:
        """A connection's packets at both ends, for the pauses of either direction."""
        found, crossings = self.crossings, part.crossings
        our_packets, their_packets = part.our_packets, part.their_packets
        here = np.searchsorted(our_packets, found.sender_packet[crossings])
        there = np.searchsorted(their_packets, found.receiver_packet[crossings])
        sides = []
        for number, (side, which, own, other) in enumerate(
            ((self.near, our_packets, here, there), (self.far, their_packets, there, here))
        ):
            elsewhere = np.full(len(which), NOWHERE)
            delay_s = np.full(len(which), np.nan)
            elsewhere[own], delay_s[own] = other, self.delay_s[crossings]
            lost = np.zeros(len(which), np.bool_)
            gone = judged[number].sent[judged[number].fates == Fate.LOST]
            lost[np.searchsorted(which, side.segments.packet[gone])] = True
            sides.append(
                End(
                    self.clock.straightened_ns(side.packets.time_ns, which, sender=number == 0),
                    side.packets.frame[which],
                    side.packets.payload_bytes[which],
                    elsewhere,
                    delay_s,
                    side.packets.from_client[which] == client_here,
                    lost,
                    side.packets.start[which],
                )
            )
        back = [replace(end, outward=~end.outward) for end in sides]
        return (sides[0], sides[1]), (back[1], back[0])


def _totals(connections: Sequence[ConnectionResult]) -> tuple[DirectionResult, DirectionResult]:
    there, back = (tuple(one.directions()[way] for one in connections) for way in (0, 1))
    return _total(there), _total(back)


def _total(parts: Sequence[DirectionResult]) -> DirectionResult:
    def total(name: str) -> int:
        return sum(getattr(part, name) for part in parts)

    def joined(name: str) -> Floats:
        return np.concatenate([getattr(part, name) for part in parts]) if parts else np.empty(0)

    measured = [part.delay_s for part in parts if part.one_way_delay.samples]
    return DirectionResult(
        sent_segments=total("sent_segments"),
        matched_segments=total("matched_segments"),
        lost_in_network=total("lost_in_network"),
        sent_data_segments=total("sent_data_segments"),
        lost_data_segments=total("lost_data_segments"),
        lost_data_bytes=total("lost_data_bytes"),
        not_captured_by_sender=total("not_captured_by_sender"),
        not_captured_by_receiver=total("not_captured_by_receiver"),
        undecided_segments=total("undecided_segments"),
        outside_capture=total("outside_capture"),
        network_duplicates=total("network_duplicates"),
        one_way_delay=delays.summary(np.concatenate(measured) if measured else np.empty(0)),
        gaps=tuple(sorted((gap for part in parts for gap in part.gaps), key=lambda gap: gap.start_ns)),
        delay_time_s=joined("delay_time_s"),
        delay_s=joined("delay_s"),
        sent_time_s=joined("sent_time_s"),
        arrived_time_s=joined("arrived_time_s"),
    )


def _warnings(captures: tuple[Capture, Capture], clock: Clock, paired: int) -> list[str]:
    found = []
    for name, capture in zip(("sender", "receiver"), captures, strict=True):
        if capture.dropped:
            found.append(f"the {name}'s capture says it dropped {capture.dropped:,} packets")
        if capture.damage is not None:
            found.append(f"the {name}'s capture is damaged, and packets may be missing: {capture.damage}")
    alone = captures[0].connections - paired, captures[1].connections - paired
    if any(alone):
        found.append(f"in one capture only: {alone[0]:,} connections of the sender's, {alone[1]:,} of the receiver's")
    if clock.offset_error_s is not None and clock.offset_error_s < 1e-6:
        found.append("no delay between the captures: they were probably made at the same point")
    return found
