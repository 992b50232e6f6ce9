"""Charts as the data that the script of a page draws (`analyze/pages/scripts/charts.js`)."""

from typing import Any

import numpy as np

from vmtrace.analyze.charts.chart import PLAIN_UNITS, Axis, Chart, Panel, Series
from vmtrace.analyze.words.units import printable

POINT_LIMIT = 2000
"""Of one series over time; scattered points are all there."""

Plain = dict[str, Any]


def of_chart(chart: Chart) -> Plain:
    """One chart."""
    return {
        "name": chart.name,
        "title": printable(chart.title),
        "caption": printable(chart.caption),
        "x": _axis(chart.x),
        "columns": chart.columns,
        "shared_x": chart.shared_x,
        "panels": [_panel(panel, chart.x) for panel in chart.panels],
    }


def _panel(panel: Panel, x: Axis) -> Plain:
    drawn = [one.drawable(x, panel.y).thinned(POINT_LIMIT) for one in panel.series]
    return {
        "title": printable(panel.title),
        "note": [printable(line) for line in panel.note.split("\n") if line],
        "y": _axis(panel.y),
        "series": [_series(one) for one in drawn if len(one.x)],
    }


def _axis(axis: Axis) -> Plain:
    return {
        "label": axis.label,
        "unit": axis.unit,
        "log": axis.log,
        "prefixed": axis.unit not in PLAIN_UNITS,
        **({"whole": True} if axis.whole else {}),
        **({"names": [printable(name) for name in axis.names]} if axis.names else {}),
    }


def _series(one: Series) -> Plain:
    return {
        "name": printable(one.name),
        "colour": one.colour,
        "style": one.style,
        "symbol": one.symbol,
        "reference": one.reference,
        "x": _numbers(one.x),
        "y": _numbers(one.y),
        **({"labels": [printable(text) for text in one.labels]} if one.labels else {}),
        **({"links": list(one.links)} if one.links else {}),
    }


def _numbers(values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> list[float]:
    return [float(f"{value:.7g}") for value in values]
