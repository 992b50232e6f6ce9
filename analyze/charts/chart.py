"""A figure as data: panels, axes with units, series. Print, page and CSV are made from the same one, so they agree."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vmtrace.analyze.charts.packet_series import Series as Points
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import REFERENCE

Style = Literal["points", "line", "steps", "bars", "ranges", "spans"]
"""Bars stand on zero. Of ranges every two points are the ends of one line; spans are the same as wide as a bar."""
Symbol = Literal["circle", "ring", "cross"]

PLAIN_UNITS = frozenset({"%", "h", "min", "d", "credits", ""})
"""Units that take no SI prefix."""
_TIMES = ((2 * 86_400.0, 86_400.0, "d"), (2 * 3600.0, 3600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))
"""From this span on, seconds in the unit, and the unit."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows. `unit` is that of the values; SI prefixes are put on when it is drawn."""

    label: str
    unit: str
    log: bool = False
    whole: bool = False
    """Counts: nothing stands between two whole numbers."""
    names: tuple[str, ...] = ()
    """Of the values 0, 1, 2 and so on, of what is no number."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind. A `reference` is drawn thin and dashed, and is no data."""

    name: str
    x: Floats
    y: Floats
    colour: str
    style: Style = "points"
    symbol: Symbol = "circle"
    reference: bool = False
    labels: tuple[str, ...] = ()
    """What each point is (`pair 17`), to be read on a page; all points have one or none has."""
    links: tuple[str, ...] = ()
    """The row of the page's tables that each point leads to."""

    def drawable(self, x_axis: Axis, y_axis: Axis) -> "Series":
        """Without what the axes cannot show: what is not measured, and what has no logarithm."""
        there = np.isfinite(self.x) & np.isfinite(self.y)
        for axis, values in ((x_axis, self.x), (y_axis, self.y)):
            if axis.log:
                there &= values > 0
        return self._at(there)

    def thinned(self, limit: int) -> "Series":
        """At most about `limit` points of a series over time, extremes kept; scattered points, bars and ranges stay."""
        if self.style in ("bars", "ranges", "spans") or len(self.x) <= limit or np.any(np.diff(self.x) < 0):
            return self
        kept = Points(self.x, self.y).thinned(limit)
        return replace(self, x=kept.time_s, y=kept.value, labels=(), links=())

    def _at(self, mask: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]") -> "Series":
        kept = np.flatnonzero(mask)
        labels, links = (tuple(texts[place] for place in kept) if texts else () for texts in (self.labels, self.links))
        return replace(self, x=self.x[mask], y=self.y[mask], labels=labels, links=links)


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes. `note` belongs to its title: numbers of what is drawn, or why nothing is."""

    title: str
    y: Axis
    series: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure. `name` is that of its files."""

    name: str
    title: str
    caption: str
    x: Axis
    panels: tuple[Panel, ...]
    columns: int = 1
    shared_x: bool = False
    """True if the panels show the same stretch of x: they are zoomed together."""


def most_names(chart: Chart) -> int:
    """Names one above the other in the panel that has most of them."""
    return max((len(panel.y.names) for panel in chart.panels), default=0)


def time_unit(span_s: float) -> tuple[float, str]:
    """Seconds in the unit that suits an axis over so much time, and that unit."""
    return next((size, unit) for least, size, unit in _TIMES if span_s >= least)


def reference(name: str, x: tuple[float, float], y: tuple[float, float]) -> Series:
    """A line between two points to compare data with."""
    return Series(name, np.array(x, np.float64), np.array(y, np.float64), REFERENCE, "line", reference=True)


def span(*values: Floats) -> tuple[float, float] | None:
    """The least and the largest of all finite positive values; None if there are none."""
    together = np.concatenate([*values, np.empty(0)])
    together = together[np.isfinite(together) & (together > 0)]
    return (float(together.min()), float(together.max())) if len(together) else None


def empty_note(panel_series: tuple[Series, ...], why: str) -> str:
    """`why`, if no series has a finite point."""
    return "" if any(np.isfinite(one.y).any() for one in panel_series if not one.reference) else why
