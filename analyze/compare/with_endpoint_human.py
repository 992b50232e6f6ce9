"""The short answer of a capture against an endpoint's log."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vmtrace.analyze.compare.with_endpoint import EndpointComparison, Way
from vmtrace.analyze.words.units import printable, seconds
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from rich.console import Console


def show(found: EndpointComparison, console: "Console") -> None:
    """Print the answer."""
    from rich.text import Text

    for line in lines(found):
        console.print(Text(line), soft_wrap=True)


def lines(found: EndpointComparison) -> Iterator[str]:
    """Losses each way, what the endpoint gave up, and its round trips beside the capture's."""
    endpoint = found.endpoint
    side = {True: "server", False: "client", None: "endpoint"}[endpoint.is_server]
    yield (
        f"{printable(found.capture)} and the {side}'s log {printable(endpoint.path)}:"
        f" QUIC {printable(found.flow['client'])} → {printable(found.flow['server'])}"
    )
    if found.reason is not None:
        yield f"  packets are not compared: {printable(found.reason)}"
    yield from _way(found.sent, f"sent by the {side}", found.datagrams_sent)
    yield from _way(found.received, f"received by the {side}", found.datagrams_received)
    if endpoint.declared_lost:
        spurious = found.declared_lost_and_captured
        after_all = "" if spurious is None else f", of which the capture holds {spurious:,}"
        yield f"  the {side} gave {plural(len(endpoint.declared_lost), 'packet')} up as lost{after_all}"
    if endpoint.min_rtt_s is not None:
        smoothed = (
            "" if endpoint.smoothed_rtt_s is None else f", smoothed {seconds(endpoint.smoothed_rtt_s)} at the end"
        )
        yield f"  RTT by the {side}'s log: {seconds(endpoint.min_rtt_s)} (min){smoothed}"


def _way(way: Way, name: str, datagrams: tuple[int | None, int]) -> Iterator[str]:
    if way.matched is None:
        logged, captured = datagrams
        if logged is not None:
            yield f"  {name}: {plural(logged, 'datagram')} by the log, {captured:,} in the capture"
        return
    parts = [f"{plural(way.in_log, 'packet')} by the log", f"{way.lost:,} lost on the way"]
    if way.not_captured:
        parts.append(f"{way.not_captured:,} not captured")
    if way.delay.samples:
        parts.append(f"delay {seconds(way.delay.min_s)} (min), {seconds(way.delay.median_s)} (median)")
    yield f"  {name}: {', '.join(parts)}"
