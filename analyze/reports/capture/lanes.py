"""The lanes of one connection over one time axis, as the data that the page's script draws.

A lane is what shares a vertical axis; its series hold points thinned to what a page may carry, with the first, last,
lowest and highest of each stretch of time, so that the file does not grow with the capture and no peak is lost.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmtrace.analyze.charts.packet_series import (
    LENGTHENED_BY,
    SENT_KINDS,
    ConnectionSeries,
    Floats,
    Series,
    throughput_bin_s,
)
from vmtrace.analyze.words.palette import LABELS, ROLES

Plain = dict[str, Any]

POINT_LIMIT = 16_000
"""Points of a series on a page of one connection; those of more connections share it."""
_FEWEST_POINTS = 1_000
_CLOCK_STEPS = 10**9
"""Steps into which a connection's time is divided at least: nanoseconds up to 1 s, microseconds up to 1000 s."""

LANES: tuple[Plain, ...] = (
    {"key": "throughput", "title": "throughput", "unit": "bit/s", "zero": True},
    {"key": "sequence", "title": "sequence number", "unit": "B"},
    {"key": "rtt", "title": "RTT", "unit": "s", "zero": True},
    {"key": "flight", "title": "in flight and window", "unit": "B", "zero": True},
    {"key": "spacing", "title": "time between packets", "unit": "s", "log": True},
)
"""From top to bottom, those of the packets; the axis of `zero` begins at 0."""

_SYMBOLS = {
    "retransmission": ("cross", 4), "reordered": ("up", 4), "duplicate": ("down", 4), "window_probe": ("ring", 4),
}  # fmt: skip


def point_limit(connections: int) -> int:
    """How many points a series may have on a page of so many connections."""
    return max(POINT_LIMIT // max(connections, 1), _FEWEST_POINTS)


def series_of(series: ConnectionSeries, limit: int) -> list[Plain]:
    """The series of all lanes that have points."""
    positive = series.spacing_s.value > 0
    spacing = Series(series.spacing_s.time_s[positive], series.spacing_s.value[positive])
    pack = Packing(_end_s(series), limit)
    found = [
        _bins(series, limit // 2),
        *(
            pack.points("sequence", series.sent[kind], LABELS[kind], ROLES[kind], *_SYMBOLS.get(kind, ("dot", 2)))
            for kind in SENT_KINDS
        ),
        pack.steps("sequence", series.acknowledged, LABELS["acknowledged"], ROLES["acknowledged"]),
        # The window's edge may be far above all that was sent: it must not press the transfer flat.
        pack.steps("sequence", series.allowed, LABELS["allowed"], ROLES["allowed"], leads=False, dashed=1),
        pack.points("rtt", series.rtt_s, "RTT sample", ROLES["rtt"]),
        *(
            pack.points("rtt", series.lengthened_rtt_s[name], LABELS[name], ROLES[name], symbol, 4)
            for name, symbol in zip(LENGTHENED_BY, ("up", "ring"), strict=True)
        ),
        pack.points("rtt", series.recovery_rtt_s, "RTT in loss recovery", ROLES["recovery_rtt"], "cross", 3),
        pack.steps("flight", series.flight_bytes, "in flight", ROLES["flight"]),
        pack.steps("flight", series.window_bytes, "receiver's window", ROLES["window"], leads=False, dashed=1),
        pack.points("spacing", spacing, "spacing", ROLES["spacing"]),
        pack.points("spacing", series.anomalies(), "oversize", ROLES["retransmission"], "ring", 5),
    ]
    return [one for one in found if one is not None]


class Packing:
    """Puts series into few characters: times as steps of a clock, each from the one before."""

    def __init__(self, span_s: float, limit: int) -> None:
        """`span_s` is the length of the time axis, `limit` the most points of a series."""
        self._limit = limit
        self._step_s = clock_step_s(span_s)

    def points(
        self, lane: str, series: Series, name: str, colour: str, symbol: str = "dot", size: int = 2
    ) -> Plain | None:
        """Marks, one for each value."""
        packed = self._packed(series)
        return packed and {
            "lane": lane, "name": name, "colour": colour, "style": "points", "symbol": symbol, "size": size, **packed
        }  # fmt: skip

    def steps(
        self, lane: str, series: Series, name: str, colour: str, *, leads: bool = True, dashed: int = 0
    ) -> Plain | None:
        """A line on which each value holds until the next; one that does not lead does not stretch the lane's axis.

        `dashed` is the number of a pattern of the page's script (`marks.js`); 0 is unbroken.
        """
        packed = self._packed(series)
        return packed and {
            "lane": lane, "name": name, "colour": colour, "style": "steps", "leads": leads, "dashed": dashed, **packed
        }  # fmt: skip

    def _packed(self, series: Series) -> Plain | None:
        if not len(series):
            return None
        thinned = series.thinned(self._limit)
        order = np.argsort(thinned.time_s, kind="stable")
        time_s, value = thinned.time_s[order], thinned.value[order]
        ticks = np.rint(time_s / self._step_s).astype(np.int64)
        return {
            "step_s": self._step_s,
            "ticks": np.diff(ticks, prepend=0).tolist(),
            "y": rounded(value),
            "of": len(series),
        }


def clock_step_s(span_s: float) -> float:
    """The step of a packed time: a power of ten, at least a nanosecond."""
    exponent = -9 if span_s <= 1 else int(np.ceil(np.log10(span_s / _CLOCK_STEPS)))
    return float(10.0**exponent)


def rounded(value: Floats) -> list[float | int | None]:
    """Whole numbers as they are, others with six digits; null for what is not there.

    Beyond 2^53 (a counter may say anything) there are no whole numbers in the page's script either.
    """
    if np.all(np.isfinite(value)) and np.all(value == np.rint(value)) and np.all(np.abs(value) < 2**53):
        return list(value.astype(np.int64).tolist())
    return [float(f"{one:.6g}") if np.isfinite(one) else None for one in value]


def thinned(found: Sequence[Plain]) -> bool:
    """True if a series has more points than are drawn."""
    return any(one["of"] > len(one["y"]) for one in found if "of" in one)


def _bins(series: ConnectionSeries, most: int) -> Plain | None:
    """Payload bits by time, finer than a screen shows: the page adds them up to what it draws."""
    time_s = series.delivered_bytes.time_s
    if not len(time_s):
        return None
    bin_s = throughput_bin_s(float(time_s.max()), most)
    index = np.maximum(time_s / bin_s, 0).astype(np.int64)
    bits = np.bincount(index, weights=series.delivered_bytes.value * 8).astype(np.int64)
    return {
        "lane": "throughput", "name": "payload without retransmissions", "colour": ROLES["throughput"], "style": "bins",
        "bin_s": bin_s, "bits": bits.tolist(),
    }  # fmt: skip


def _end_s(series: ConnectionSeries) -> float:
    times = (one.time_s for one in (series.delivered_bytes, series.flight_bytes, series.acknowledged))
    return max((float(time.max()) for time in times if len(time)), default=0.0)
