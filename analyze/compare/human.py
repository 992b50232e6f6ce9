"""The short answer on the terminal: the clock in a line, a table of connections, where the pauses were made."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from vmtrace.analyze.compare.clock import Clock
from vmtrace.analyze.compare.comparison import Comparison, ConnectionResult, DirectionResult
from vmtrace.analyze.compare.datagrams import DatagramDirection, FlowResult
from vmtrace.analyze.tables.table import Column, Table, shown
from vmtrace.analyze.tables.terminal_table import terminal_table
from vmtrace.analyze.words.units import ABSENT, count, printable, seconds, share
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 20


def show(comparison: Comparison, console: "Console") -> None:
    """Print the answer."""
    from rich.text import Text

    for line in (heading(comparison), clock_line(comparison.clock)):
        console.print(Text(line), soft_wrap=True)
    for line in comparison.warnings:
        console.print(Text(f"  {printable(line)}", "yellow"), soft_wrap=True)
    for line in finding_lines(comparison):
        console.print(Text(line), soft_wrap=True)
    console.print()
    if comparison.connections:
        console.print(terminal_table(table(comparison), console.width))
    for line in flow_lines(comparison):
        console.print(Text(line), soft_wrap=True)
    for line in notes(comparison):
        console.print(Text(line), soft_wrap=True)


def finding_lines(comparison: Comparison) -> Iterator[str]:
    """What held the connections back; nothing where that was not asked for."""
    if comparison.finding_lines:
        yield f"findings of the {comparison.findings_of}'s capture:"
        yield from comparison.finding_lines


def flow_lines(comparison: Comparison) -> Iterator[str]:
    """A line for each direction of each flow of datagrams, those with most losses first, then the largest."""

    def weight(one: FlowResult) -> tuple[int, int]:
        return -sum(part.lost_in_network for part in one.directions()), -sum(p.sent_datagrams for p in one.directions())

    for one in sorted(comparison.flows, key=weight)[:_SHOWN]:
        name = one.sender_flow["application"] or one.sender_flow["protocol"]
        yield f"{name} {printable(one.sender_flow['client'])} → {printable(one.sender_flow['server'])}"
        for part, way in zip(one.directions(), ("sender to receiver", "receiver to sender"), strict=True):
            if part.sent_datagrams or part.outside_capture:
                yield f"  {way}: {_flow_said(part)}"
    if len(comparison.flows) > _SHOWN:
        yield f"{plural(len(comparison.flows) - _SHOWN, 'further flow')} not shown: see --json or --csv"


def _flow_said(part: DatagramDirection) -> str:
    parts = [f"{part.lost_in_network:,} of {plural(part.sent_datagrams, 'datagram')} lost"]
    if part.lost_in_network:
        parts[0] += f" ({share(part.lost_rate)})"
    delay = part.one_way_delay
    if delay.samples:
        parts.append(f"delay {seconds(delay.min_s)} (min), {seconds(delay.median_s)}, {seconds(delay.max_s)} (max)")
    counts = (
        (part.reordered, "reordered"),
        (part.network_duplicates, "copied"),
        (part.not_captured, "not captured where they were sent"),
        (part.outside_capture, "outside the other capture"),
    )
    return ", ".join([*parts, *(f"{count:,} {what}" for count, what in counts if count)])


def heading(comparison: Comparison) -> str:
    """What was compared."""
    flows = f"{plural(len(comparison.flows), 'flow')} of datagrams," if comparison.flows else ""
    return (
        f"{printable(comparison.sender.path)} and {printable(comparison.receiver.path)}:"
        f" {plural(len(comparison.connections), 'connection')} in both,"
        f"{' ' if flows else ''}{flows}"
        f" {plural(comparison.matched_packets, 'packet')} matched"
    )


def _rounded(error_ppm: float) -> str:
    return f"{error_ppm:.2g}" if error_ppm < 100 else f"{error_ppm:,.0f}"


def clock_line(clock: Clock) -> str:
    """The receiver's clock against the sender's."""
    if clock.offset_s is None or clock.offset_error_s is None:
        return f"clock: not known ({clock.why_not})"
    ahead = "ahead of" if clock.offset_s >= 0 else "behind"
    offset = f"{seconds(abs(clock.offset_s))} {ahead} the sender's (± {seconds(clock.offset_error_s)})"
    skew = f"; {clock.why_not}"
    if clock.skew_ppm is not None and clock.skew_error_ppm is not None:
        skew = f", skew {clock.skew_ppm:+.2f} ppm (± {_rounded(clock.skew_error_ppm)})"
    steps = f", {plural(len(clock.steps), 'step')}" if clock.steps else ""
    shown = ", ".join(f"{step.step_s:+.6g} s ({step.clock}'s clock)" for step in clock.steps[:3])
    return f"clock: the receiver's is {offset}{skew}{steps}{': ' if shown else ''}{shown}"


class _Shown(NamedTuple):
    """One direction of a connection, and what its row is called."""

    name: str
    way: str
    part: DirectionResult


_COLUMNS: tuple[Column[_Shown], ...] = (
    Column("connection", lambda one: one.name, left=True),
    Column("way", lambda one: one.way, left=True),
    Column("sent", lambda one: count(one.part.sent_segments)),
    Column("lost", lambda one: count(one.part.lost_in_network) + ("?" if one.part.undecided_segments else "")),
    Column("rate", lambda one: share(one.part.lost_rate)),
    Column("not captured", lambda one: count(one.part.not_captured)),
    Column("delay min", lambda one: seconds(one.part.one_way_delay.min_s)),
    Column("median", lambda one: seconds(one.part.one_way_delay.median_s)),
    Column("p99", lambda one: seconds(one.part.one_way_delay.p99_s)),
    Column("pauses", lambda one: count(len(one.part.gaps))),
)


def table(comparison: Comparison) -> Table:
    """One row for each direction of each connection, the connections with most packets first."""
    connections = sorted(comparison.connections, key=lambda one: -one.matched_packets)[:_SHOWN]
    return shown(_COLUMNS, (row for one in connections for row in _rows(one)))


def _rows(one: ConnectionResult) -> Iterator[_Shown]:
    ends = (one.sender_client, one.sender_server)
    ends = ends if one.client_at == "sender" else ends[::-1]
    for place, (part, arrow) in enumerate(zip(one.directions(), ("→", "←"), strict=True)):
        name = f"{one.id} {printable(ends[0])}" if place == 0 else f"{' ' * len(str(one.id))} {printable(ends[1])}"
        yield _Shown(name, arrow, part)


def notes(comparison: Comparison) -> Iterator[str]:
    """What the table leaves out or needs said."""
    left_out = len(comparison.connections) - _SHOWN
    if left_out > 0:
        yield f"{plural(left_out, 'further connection')} not shown: see --json or --csv"
    if any(one.addresses_rewritten for one in comparison.connections):
        rewritten = sum(one.addresses_rewritten for one in comparison.connections)
        yield f"addresses or ports are rewritten on the way (NAT) of {plural(rewritten, 'connection')}"
    undecided = sum(part.undecided_segments for part in comparison.total)
    if undecided:
        yield (
            f"? {plural(undecided, 'acknowledgement')} without data may have been lost, or missed by the capture, which"
            " missed others"
        )
    outside = sum(part.outside_capture for part in comparison.total)
    if outside:
        yield f"{plural(outside, 'segment')} passed while one end was not captured: not judged"
    if any(part.one_way_delay.median_s is None for part in comparison.total):
        why = "the clocks' offset is unknown, or no packets passed in that direction"
        yield f"{ABSENT} means: the delay is not known, because {why}"
    duplicates = sum(part.network_duplicates for part in comparison.total)
    if duplicates:
        yield f"copies that the network made: {duplicates:,}"
    yield from _located(comparison.connections)
    yield from _longest(comparison.connections)


def _located(connections: tuple[ConnectionResult, ...]) -> Iterator[str]:
    """Where all pauses were made, together."""
    places = Counter(gap.location.value for one in connections for part in one.directions() for gap in part.gaps)
    if places:
        unsure = places["path_or_receiver"] + places["unknown"]
        yield (
            f"pauses: {places['sender']:,} made at the sender, {places['path']:,} on the path,"
            f" {places['receiver']:,} at the receiver, {unsure:,} unclear"
        )


def _longest(connections: tuple[ConnectionResult, ...]) -> Iterator[str]:
    gaps = [(gap, one) for one in connections for part in one.directions() for gap in part.gaps]
    for gap, one in sorted(gaps, key=lambda pair: -pair[0].length_s)[:3]:
        frames = gap.receiver_frames if gap.sender_frames is None else gap.sender_frames
        where = "receiver's" if gap.sender_frames is None else "sender's"
        yield (
            f"pause of {seconds(gap.length_s)} in connection {one.id}: {gap.location.value.replace('_', ' ')}"
            f" ({gap.reason.value.replace('_', ' ')}); at the sender {seconds(gap.sender_gap_s)}, at the receiver"
            f" {seconds(gap.receiver_gap_s)}" + (f"; {where} frames {frames[0]}, {frames[1]}" if frames else "")
        )
