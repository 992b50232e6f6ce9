"""Round-trip time over time: clean samples, with marks where a host lengthened them, and those of loss recovery."""

from matplotlib.figure import Figure

from vmtrace.analyze.charts.figures.axes import legend, new_figure, note_empty, points, si_axis
from vmtrace.analyze.charts.packet_series import LENGTHENED_BY, ConnectionSeries
from vmtrace.analyze.words.palette import LABELS, ROLES
from vmtrace.analyze.words.units import seconds

NAME = "rtt"


def draw(series: ConnectionSeries) -> Figure:
    """RTT over time, with the minimum and the median that the tables give."""
    figure, axes = new_figure(series, "Round-trip time")
    if not len(series.rtt_s) and not len(series.recovery_rtt_s):
        note_empty(axes, "no RTT sample in this direction")
    points(axes, series.rtt_s, ROLES["rtt"], "sample")
    for name, marker in zip(LENGTHENED_BY, "^s", strict=True):
        points(axes, series.lengthened_rtt_s[name], ROLES[name], LABELS[name], marker, 3)
    points(axes, series.recovery_rtt_s, ROLES["recovery_rtt"], "in loss recovery (SACK, timestamps)", "x", 3)
    rtt = series.record[series.direction]["rtt"]
    for key, style in (("min_s", "--"), ("median_s", ":")):
        if rtt[key] is not None:
            label = f"{key.removesuffix('_s')} {seconds(rtt[key])}"
            axes.axhline(rtt[key], color="#444444", linestyle=style, linewidth=0.9, label=label)
    si_axis(axes, "RTT, as seen at the capture point", "s")
    legend(axes)
    return figure
