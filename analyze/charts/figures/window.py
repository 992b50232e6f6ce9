"""The receiver's window and the bytes in flight over time: which of the two held the sender."""

from matplotlib.figure import Figure

from vmtrace.analyze.charts.figures.axes import legend, new_figure, note_empty, si_axis, steps
from vmtrace.analyze.charts.packet_series import ConnectionSeries
from vmtrace.analyze.words.palette import ROLES

NAME = "window"


def draw(series: ConnectionSeries) -> Figure:
    """Window and flight."""
    figure, axes = new_figure(series, "Window and flight")
    if not len(series.window_bytes) and not len(series.flight_bytes):
        note_empty(axes, "window scale and flight are unknown")
    steps(axes, series.window_bytes, ROLES["window"], "receiver's window", 1.1)
    steps(axes, series.flight_bytes, ROLES["flight"], "in flight", 0.7)
    si_axis(axes, "bytes", "B")
    legend(axes)
    return figure
