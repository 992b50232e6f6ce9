"""Each kind of figure of a connection: what is drawn into its axes."""

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vmtrace.analyze.charts.figures.axes import legend, log_axis, new_figure, note_empty, points, si_axis, steps
from vmtrace.analyze.charts.packet_series import LENGTHENED_BY, SENT_KINDS, ConnectionSeries, Series
from vmtrace.analyze.words.palette import LABELS, ROLES
from vmtrace.analyze.words.units import seconds, si

_MARKERS = {"retransmission": ("x", 5.0), "reordered": ("^", 3.5), "duplicate": ("v", 3.5), "window_probe": ("s", 3.0)}


def draw(kind: str, series: ConnectionSeries) -> Figure:
    """A figure of one of the `KINDS`."""
    title, into = KINDS[kind]
    figure, axes = new_figure(series, title)
    into(axes, series)
    legend(axes)
    return figure


def _time_sequence(axes: Axes, series: ConnectionSeries) -> None:
    """Sequence numbers over time, after Stevens: what was sent and retransmitted, acknowledged and allowed."""
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


def _rtt(axes: Axes, series: ConnectionSeries) -> None:
    """Clean samples, those that a host lengthened, and those of loss recovery; the tables' minimum and median."""
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


def _spacing(axes: Axes, series: ConnectionSeries) -> None:
    """Spacing to the packet before, logarithmic; gaps that count as oversize are marked."""
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


def _window(axes: Axes, series: ConnectionSeries) -> None:
    """The receiver's window and the bytes in flight: which of the two held the sender."""
    if not len(series.window_bytes) and not len(series.flight_bytes):
        note_empty(axes, "window scale and flight are unknown")
    steps(axes, series.window_bytes, ROLES["window"], "receiver's window", 1.1)
    steps(axes, series.flight_bytes, ROLES["flight"], "in flight", 0.7)
    si_axis(axes, "bytes", "B")


def _throughput(axes: Axes, series: ConnectionSeries) -> None:
    """Payload bits per second, repeats left out, with the mean goodput that the tables give."""
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


KINDS: dict[str, tuple[str, Callable[[Axes, ConnectionSeries], None]]] = {
    "time-sequence": ("Time-sequence", _time_sequence),
    "rtt": ("Round-trip time", _rtt),
    "spacing": ("Time between packets", _spacing),
    "window": ("Window and flight", _window),
    "throughput": ("Throughput", _throughput),
}
"""By the name in the file's name: its title, and what draws it."""
