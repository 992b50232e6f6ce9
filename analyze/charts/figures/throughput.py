"""Throughput over time."""

from matplotlib.figure import Figure

from vmtrace.analyze.charts.figures.axes import legend, new_figure, note_empty, si_axis
from vmtrace.analyze.charts.packet_series import ConnectionSeries
from vmtrace.analyze.words.palette import ROLES
from vmtrace.analyze.words.units import seconds, si

NAME = "throughput"


def draw(series: ConnectionSeries) -> Figure:
    """Payload bits per second, repeats left out, with the mean goodput that the tables give."""
    figure, axes = new_figure(series, "Throughput")
    rate = series.throughput_bps
    if not len(rate):
        note_empty(axes, "no data was sent")
    label = f"in bins of {seconds(series.bin_s)}"
    axes.step(rate.time_s, rate.value, where="mid", color=ROLES["throughput"], linewidth=1.0, label=label)
    axes.fill_between(rate.time_s, rate.value, step="mid", color=ROLES["throughput"], alpha=0.15, linewidth=0)
    goodput = series.record[series.direction]["goodput_bps"]
    if goodput is not None:
        axes.axhline(goodput, color="#444444", linestyle="--", linewidth=0.9, label=f"goodput {si(goodput, 'bit/s')}")
    si_axis(axes, "payload, without retransmissions", "bit/s")
    legend(axes)
    return figure
