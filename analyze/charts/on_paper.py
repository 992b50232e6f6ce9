"""Charts for print: PNG and SVG by matplotlib, with the data of each as CSV beside it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from vmtrace.analyze.charts.chart import PLAIN_UNITS, Axis, Chart, Panel, Series, most_names
from vmtrace.analyze.charts.figures.axes import POINT_LIMIT, STYLE
from vmtrace.analyze.read.atomic import make_folder, writing
from vmtrace.analyze.tables.csv_files import harmless
from vmtrace.analyze.words.units import printable

FORMATS = ("png", "svg")
_DOTS_PER_INCH = 300
_WIDTH_INCHES = 7.2
_PANEL_HEIGHT_INCHES = {1: 2.1, 2: 3.2}
_SMALL_PANEL_HEIGHT_INCHES = 2.0
_NAME_HEIGHT_INCHES = 0.2
_SPAN_POINTS = 9.0
"""How wide a span is drawn."""
_WIDE_COLUMNS = 2
_FEW_DECADES = 4
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_RASTERED_FROM = 5000
"""More points than this in a vector file are drawn as one image."""


def write_charts(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Write `NAME.png`, `NAME.svg` and `NAME.csv` of each chart; returns the paths."""
    make_folder(folder)
    written = []
    for chart in charts:
        figure = draw(chart)
        for form in FORMATS:
            path = folder / f"{chart.name}.{form}"
            # Without a date in it the same run gives the same file.
            metadata = {"Date": None} if form == "svg" else None
            with mpl.rc_context(STYLE), writing(path) as out:
                figure.savefig(out, format=form, metadata=metadata, dpi=_DOTS_PER_INCH)
            written.append(path)
        written.append(_write_data(chart, folder / f"{chart.name}.csv"))
    return written


def draw(chart: Chart) -> Figure:
    """One chart as a figure."""
    columns = min(chart.columns, max(1, len(chart.panels)))
    rows = max(1, -(-len(chart.panels) // columns))
    each = _PANEL_HEIGHT_INCHES.get(columns, _SMALL_PANEL_HEIGHT_INCHES)
    height = max(each, _NAME_HEIGHT_INCHES * most_names(chart)) * rows + 0.9
    size = {"font.size": 8 if columns <= _WIDE_COLUMNS else 6.5}
    with mpl.rc_context(STYLE | size):
        figure = Figure(figsize=(_WIDTH_INCHES if columns < 4 else 10.5, height))
        FigureCanvasAgg(figure)
        grid = figure.subplots(rows, columns, sharex=chart.shared_x, squeeze=False)
        cells: Sequence[Axes] = list(grid.flat)
        scales = _Scales(chart)
        # Everything is drawn before any axis is given its limits: panels that share one span what all of them show.
        for axes, panel in zip(cells, chart.panels, strict=False):
            for one in panel.series:
                _draw_series(axes, one.drawable(chart.x, panel.y).thinned(POINT_LIMIT))
        for number, (axes, panel) in enumerate(zip(cells, chart.panels, strict=False)):
            _label_panel(axes, panel, chart.x, scales, small=columns > _WIDE_COLUMNS)
            if number + columns < len(chart.panels) and (chart.shared_x or columns > 1):
                axes.set_xlabel("")
            if number % columns:
                axes.set_ylabel("")
        for axes in cells[len(chart.panels) :]:
            axes.set_visible(False)
        figure.suptitle(_text(chart.title), x=0.01, ha="left", fontsize=9, wrap=True)
        _legend(figure, cells)
    return figure


class _Scales:
    """Which SI prefix each quantity of a chart takes: the same in all panels, so that they can be compared."""

    def __init__(self, chart: Chart) -> None:
        self._largest: dict[tuple[str, str], float] = {}
        self._below_zero: set[tuple[str, str]] = set()
        for panel in chart.panels:
            for one in panel.series:
                drawn = one.drawable(chart.x, panel.y)
                for axis, values in ((chart.x, drawn.x), (panel.y, drawn.y)):
                    key = (axis.label, axis.unit)
                    self._largest[key] = max(self._largest.get(key, 0.0), float(np.abs(values).max(initial=0.0)))
                    if np.any(values < 0):
                        self._below_zero.add(key)

    def of(self, axis: Axis) -> tuple[float, str]:
        """What values are divided by, and the unit that gives."""
        if axis.unit in PLAIN_UNITS:
            return 1.0, axis.unit
        largest = self._largest.get((axis.label, axis.unit), 0.0)
        return next(((size, prefix + axis.unit) for size, prefix in _PREFIXES if largest >= size), (1.0, axis.unit))

    def below_zero(self, axis: Axis) -> bool:
        """True if it has negative values: a delay between clocks that are not the same, say."""
        return (axis.label, axis.unit) in self._below_zero


def _label_panel(axes: Axes, panel: Panel, x: Axis, scales: _Scales, *, small: bool) -> None:
    _format(axes, x, scales, horizontal=True, small=small)
    _format(axes, panel.y, scales, horizontal=False, small=small)
    drawn = any(len(one.drawable(x, panel.y).x) for one in panel.series)
    note = f"\n{panel.note}" if panel.note and drawn else ""
    axes.set_title(_text(panel.title + note), loc="left", fontsize="medium")
    if panel.note and not drawn:
        axes.text(0.5, 0.5, _text(panel.note), transform=axes.transAxes, ha="center", va="center", color="#666666")


def _draw_series(axes: Axes, one: Series) -> None:
    if not len(one.x):
        return
    label = _text(one.name)
    if one.reference:
        axes.plot(one.x, one.y, "--", color=one.colour, linewidth=0.8, label=label, zorder=2)
    elif one.style == "steps":
        axes.step(one.x, one.y, where="post", color=one.colour, linewidth=0.9, label=label, zorder=4)
    elif one.style == "bars":
        axes.bar(one.x, one.y, width=0.7, color=one.colour, label=label, zorder=3)
    elif one.style in ("ranges", "spans"):
        ends = np.stack([one.x, one.y], axis=1).reshape(-1, 2, 2)
        is_bar = one.style == "spans"
        look = {"linewidths": _SPAN_POINTS, "label": label, "capstyle": "butt"} if is_bar else {"linewidths": 0.9}
        axes.add_collection(LineCollection(list(ends), colors=one.colour, zorder=2, **look))
        axes.autoscale_view()
    elif one.style == "line":
        axes.plot(one.x, one.y, "-", color=one.colour, linewidth=0.9, label=label, zorder=4)
    else:
        ring = one.symbol == "ring"
        axes.plot(
            one.x,
            one.y,
            linestyle="none",
            marker={"circle": ".", "ring": "o", "cross": "x"}[one.symbol],
            markersize=3.5,
            fillstyle="none" if ring else "full",
            markeredgewidth=0.7 if one.symbol != "circle" else 0,
            color=one.colour,
            label=label,
            rasterized=len(one.x) > _RASTERED_FROM,
            # What lies on an axis (no loss at all) is to be seen whole.
            clip_on=False,
            zorder=5 if ring else 3,
        )


def _format(axes: Axes, axis: Axis, scales: _Scales, *, horizontal: bool, small: bool) -> None:
    which = axes.xaxis if horizontal else axes.yaxis
    if axis.names:
        (axes.set_xlim if horizontal else axes.set_ylim)(-0.5, len(axis.names) - 0.5)
        which.set_ticks(range(len(axis.names)), [_text(name) for name in axis.names])
        which.set_label_text(axis.label)
        return
    if axis.log:
        (axes.set_xscale if horizontal else axes.set_yscale)("log")
        which.set_major_locator(LogLocator(10, numticks=_FEW_DECADES if small else 12))
        which.set_minor_formatter(NullFormatter())
        # In a small panel the unit is the label's: 10k, 1M.
        which.set_major_formatter(EngFormatter("", sep="") if small else EngFormatter(axis.unit))
        which.set_label_text(f"{axis.label} [{axis.unit}]" if small and axis.unit else axis.label)
        return
    # How far measured values are from nothing is what is to be seen.
    low, high = axes.get_xlim() if horizontal else axes.get_ylim()
    least, most = (low, max(0.0, high)) if scales.below_zero(axis) else (0.0, high)
    (axes.set_xlim if horizontal else axes.set_ylim)(least, most)
    which.set_major_locator(MaxNLocator(5, integer=axis.whole))
    size, unit = scales.of(axis)
    form = ",.0f" if axis.whole else "g"
    which.set_major_formatter(FuncFormatter(lambda value, _: f"{value / size:{form}}"))
    which.set_label_text(f"{axis.label} [{unit}]" if unit else axis.label)


def _legend(figure: Figure, cells: Sequence[Axes]) -> None:
    """One legend for all panels, outside of them, if there is more than one thing."""
    named: dict[str, Artist] = {}
    for axes in cells:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(str(label), handle)
    if len(named) > 1:
        figure.legend(
            list(named.values()),
            list(named),
            loc="outside lower center",
            ncols=min(4, len(named)),
            markerscale=2,
            frameon=False,
            fontsize="medium",
        )


def _write_data(chart: Chart, path: Path) -> Path:
    """Every point of the chart: those thinned out for drawing, too; lines of reference are none."""
    from pyarrow.csv import write_csv

    points = [(panel, one) for panel in chart.panels for one in panel.series if not one.reference]
    lengths = [len(one.x) for _, one in points]

    def repeated(values: list[str]) -> list[str]:
        return [value for value, length in zip(values, lengths, strict=True) for _ in range(length)]

    table = pa.table(
        {
            "panel": pa.array(repeated([panel.title for panel, _ in points]), pa.string()),
            "series": pa.array(repeated([one.name for _, one in points]), pa.string()),
            "x": _column([one.x for _, one in points]),
            "x_unit": pa.array(repeated([chart.x.unit for _ in points]), pa.string()),
            "y": _column([one.y for _, one in points]),
            "y_unit": pa.array(repeated([panel.y.unit for panel, _ in points]), pa.string()),
        }
    )
    with writing(path) as out:
        write_csv(harmless(table), out)
    return path


def _column(parts: "Sequence[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]") -> pa.Array:
    """Numbers, null where nothing was measured."""
    return pa.array(np.concatenate([*parts, np.empty(0)]), pa.float64(), from_pandas=True)


def _text(text: str) -> str:
    # A dollar sign in a name would start a formula.
    return "\n".join(printable(line) for line in text.split("\n")).replace("$", r"\$")
