"""The short answer on the terminal: the clock in a line, a table of connections, where the pauses were made."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyze.compare.clock import Clock
from analyze.compare.comparison import Comparison, ConnectionResult, DirectionResult
from analyze.units import ABSENT, count, plural, printable, seconds, share

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_SHOWN = 20


def show(comparison: Comparison, console: "Console") -> None:
    """Print the answer."""
    from rich.text import Text

    for line in (heading(comparison), clock_line(comparison.clock)):
        console.print(Text(line), soft_wrap=True)
    for line in comparison.warnings:
        console.print(Text(f"  {printable(line)}", "yellow"), soft_wrap=True)
    console.print()
    console.print(table(comparison))
    for line in notes(comparison):
        console.print(Text(line), soft_wrap=True)


def heading(comparison: Comparison) -> str:
    """What was compared."""
    return (
        f"{printable(comparison.sender.path)} and {printable(comparison.receiver.path)}:"
        f" {plural(len(comparison.connections), 'connection')} in both,"
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


def table(comparison: Comparison) -> "Table":
    """One row for each direction of each connection, the connections with most packets first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("connection", "way"):
        made.add_column(title, overflow="fold")
    for title in ("sent", "lost", "rate", "not captured", "delay min", "median", "p99", "gaps S/P/R/?"):
        made.add_column(title, justify="right", no_wrap=True)
    connections = sorted(comparison.connections, key=lambda one: -one.matched_packets)[:_SHOWN]
    for one in connections:
        ends = (one.sender_client, one.sender_server)
        ends = ends if one.client_at == "sender" else ends[::-1]
        for place, (end, arrow) in enumerate(zip(one.directions(), ("→", "←"), strict=True)):
            name = f"{one.id} {printable(ends[0])}" if place == 0 else f"  {printable(ends[1])}"
            made.add_row(name, arrow, *_cells(end))
    return made


def _cells(part: DirectionResult) -> Iterator[str]:
    delay, places = part.one_way_delay, Counter(gap.location.value for gap in part.gaps)
    unsure = places["path_or_receiver"] + places["unknown"]
    yield count(part.sent_segments)
    yield count(part.lost_in_network) + ("?" if part.undecided_segments else "")
    yield share(part.lost_rate)
    yield count(part.not_captured)
    yield from (seconds(value) for value in (delay.min_s, delay.median_s, delay.p99_s))
    yield f"{places['sender']}/{places['path']}/{places['receiver']}/{unsure}" if part.gaps else ABSENT


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
    duplicates = sum(part.network_duplicates for part in comparison.total)
    if duplicates:
        yield f"copies that the network made: {duplicates:,}"
    yield from _longest(comparison.connections)


def _longest(connections: tuple[ConnectionResult, ...]) -> Iterator[str]:
    gaps = [(gap, one) for one in connections for part in one.directions() for gap in part.gaps]
    for gap, one in sorted(gaps, key=lambda pair: -pair[0].length_s)[:3]:
        frames = gap.receiver_frames if gap.sender_frames is None else gap.sender_frames
        where = "receiver's" if gap.sender_frames is None else "sender's"
        yield (
            f"gap of {seconds(gap.length_s)} in connection {one.id}: {gap.location.value.replace('_', ' ')}"
            f" ({gap.reason.value.replace('_', ' ')}); at the sender {seconds(gap.sender_gap_s)}, at the receiver"
            f" {seconds(gap.receiver_gap_s)}" + (f"; {where} frames {frames[0]}, {frames[1]}" if frames else "")
        )
