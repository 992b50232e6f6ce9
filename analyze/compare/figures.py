"""The figures of a comparison: one-way delay over time, both ways, and the spacing of data packets at both ends."""

from collections.abc import Iterator

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series
from vmtrace.analyze.compare.comparison import Comparison, ConnectionResult, DirectionResult
from vmtrace.analyze.words.palette import ROLES, RUNS

_TIME = Axis("time since the first packet seen at both ends", "s")
_DRAWN_AT_MOST = 3
_WAYS = ("sender to receiver", "receiver to sender")


def charts(comparison: Comparison) -> Iterator[Chart]:
    """Two figures for each of the largest connections."""
    largest = sorted(comparison.connections, key=lambda one: -one.matched_packets)[:_DRAWN_AT_MOST]
    for one in largest:
        yield _delay(one, comparison)
        yield _spacing(one)


def _delay(one: ConnectionResult, comparison: Comparison) -> Chart:
    error_s = comparison.clock.offset_error_s
    unknown = "" if error_s is not None else "not corrected: the clock offset is not known"
    panels = tuple(
        Panel(way, Axis("one-way delay", "s"), (_delays(part),), unknown if len(part.delay_s) else "no packet matched")
        for way, part in zip(_WAYS, one.directions(), strict=True)
    )
    caption = "Delays between the captures, clock corrected; known to within the offset's error, their changes exactly."
    name = f"connection-{one.id}-one-way-delay"
    return Chart(name, f"One-way delay, connection {one.id}", caption, _TIME, panels, shared_x=True)


def _delays(part: DirectionResult) -> Series:
    order = np.argsort(part.delay_time_s, kind="stable")
    return Series("packet", part.delay_time_s[order], part.delay_s[order], ROLES["rtt"])


def _spacing(one: ConnectionResult) -> Chart:
    panels = tuple(
        Panel(
            way,
            Axis("time since the data packet before", "s", log=True),
            (
                _spaces("at the sending end", part.sent_time_s, RUNS[0]),
                _spaces("at the receiving end", part.arrived_time_s, RUNS[1]),
            ),
            "" if len(part.sent_time_s) > 1 else "fewer than two data packets",
        )
        for way, part in zip(_WAYS, one.directions(), strict=True)
    )
    caption = "A pause that both ends show is the sender's; one that arrivals alone show was made on the way."
    name = f"connection-{one.id}-spacing"
    return Chart(name, f"Time between packets at both ends, connection {one.id}", caption, _TIME, panels, shared_x=True)


def _spaces(name: str, time_s: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", colour: str) -> Series:
    return Series(name, time_s[1:], np.diff(time_s), colour)
