"""Spacing between data packets over time: where a sender stood still."""

from matplotlib.figure import Figure

from vmtrace.analyze.charts.figures.axes import legend, log_axis, new_figure, note_empty, points
from vmtrace.analyze.charts.packet_series import ConnectionSeries, Series
from vmtrace.analyze.words.palette import ROLES
from vmtrace.analyze.words.units import seconds

NAME = "spacing"


def draw(series: ConnectionSeries) -> Figure:
    """Spacing to the packet before, logarithmic; gaps that count as oversize are marked."""
    figure, axes = new_figure(series, "Time between packets")
    spacing = series.record[series.direction]["spacing"]
    positive = series.spacing_s.value > 0
    drawn = Series(series.spacing_s.time_s[positive], series.spacing_s.value[positive])
    if not len(drawn):
        note_empty(axes, "fewer than two data packets")
    points(axes, drawn, ROLES["spacing"], "spacing")
    marked = series.anomalies()
    if len(marked):
        colour = ROLES["retransmission"]
        axes.plot(marked.time_s, marked.value, "o", color=colour, fillstyle="none", markersize=6, label="oversize")
    # Where most packets have the same time, a line far below all points would only press them together.
    if len(drawn) and (spacing["median_s"] or 0) >= drawn.value.min():
        label = f"median {seconds(spacing['median_s'])}"
        axes.axhline(spacing["median_s"], color="#444444", linestyle=":", linewidth=0.9, label=label)
    log_axis(axes, "time since the previous data packet", "s")
    legend(axes)
    return figure
