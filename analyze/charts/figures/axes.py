"""What all figures share: size, fonts, axes in SI units, thinning."""

from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from vmtrace.analyze.charts.packet_series import ConnectionSeries, Series
from vmtrace.analyze.words.units import printable

POINT_LIMIT = 20_000
"""More points than this on one line are more than a printed page can show."""

STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "vmtrace",
    "figure.constrained_layout.use": True,
}


def new_figure(series: ConnectionSeries, what: str) -> tuple[Figure, Axes]:
    """An empty figure with a title and a time axis."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 3.8), dpi=200)
        axes = figure.add_subplot()
    # A dollar sign in a name would start a formula.
    title = printable(series.title).replace("$", r"\$")
    axes.set_title(f"{what}, {title}", loc="left", fontsize=9)
    axes.set_xlabel("time since the connection's first packet")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    return figure, axes


def si_axis(axes: Axes, label: str, unit: str) -> None:
    """A value axis in `unit` with SI prefixes, from 0."""
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(EngFormatter(unit))
    axes.set_ylim(bottom=0)


def log_axis(axes: Axes, label: str, unit: str) -> None:
    """A logarithmic value axis in `unit` with SI prefixes."""
    axes.set_yscale("log")
    axes.set_ylabel(label)
    axes.yaxis.set_major_locator(LogLocator(10, numticks=12))
    axes.yaxis.set_major_formatter(EngFormatter(unit))
    axes.yaxis.set_minor_formatter(NullFormatter())


def points(axes: Axes, series: Series, colour: str, label: str, marker: str = ".", size: float = 2.5) -> None:
    """Draw a series as single points (drawn as one image in vector formats when there are many)."""
    if len(series):
        drawn = series.thinned(POINT_LIMIT)
        axes.plot(
            drawn.time_s,
            drawn.value,
            linestyle="none",
            marker=marker,
            markersize=size,
            markeredgewidth=0.8 if marker == "x" else 0,
            color=colour,
            label=label,
            rasterized=len(drawn) > 5000,
            zorder=3 if marker == "." else 5,
        )


def steps(axes: Axes, series: Series, colour: str, label: str, width: float = 0.9) -> None:
    """Draw a series as a line of steps: a value holds until the next one."""
    if len(series):
        drawn = series.thinned(POINT_LIMIT)
        axes.step(drawn.time_s, drawn.value, where="post", color=colour, label=label, linewidth=width, zorder=4)


def legend(axes: Axes) -> None:
    """Say what is what, outside the data, if there is more than one thing."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        axes.figure.legend(
            handles, labels, loc="outside lower center", ncols=len(labels), markerscale=2, frameon=False, fontsize=8
        )


def note_empty(axes: Axes, text: str) -> None:
    """Say why a figure shows nothing."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="#666666")
