"""Time-sequence diagram after Stevens: what was sent, what was sent again, what was acknowledged and allowed."""

from matplotlib.figure import Figure

from vmtrace.analyze.charts.figures.axes import legend, new_figure, note_empty, points, si_axis, steps
from vmtrace.analyze.charts.packet_series import SENT_KINDS, ConnectionSeries
from vmtrace.analyze.words.palette import LABELS, ROLES

NAME = "time-sequence"
_MARKERS = {"retransmission": ("x", 5.0), "reordered": ("^", 3.5), "duplicate": ("v", 3.5), "window_probe": ("s", 3.0)}


def draw(series: ConnectionSeries) -> Figure:
    """Sequence numbers over time."""
    figure, axes = new_figure(series, "Time-sequence")
    sent_any = any(len(series.sent[kind]) for kind in SENT_KINDS)
    if not sent_any:
        note_empty(axes, "no data was sent")
    highest = max((float(s.value.max()) for s in series.sent.values() if len(s)), default=0.0)
    steps(axes, series.allowed, ROLES["allowed"], LABELS["allowed"], 0.7)
    steps(axes, series.acknowledged, ROLES["acknowledged"], LABELS["acknowledged"])
    for kind in SENT_KINDS:
        marker, size = _MARKERS.get(kind, (".", 2.5))
        points(axes, series.sent[kind], ROLES[kind], LABELS[kind], marker, size)
    si_axis(axes, "sequence number, relative", "B")
    # A window much larger than the transfer would press the transfer flat.
    axes.set_ylim(0, highest * 1.1 or 1)
    legend(axes)
    return figure
