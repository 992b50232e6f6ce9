"""Figures of the inside of one pair's transfers: RTT (Fig. 4), packet spacing (5, 7), spacing and window (8)."""

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, reference
from vmtrace.analyze.charts.packet_series import Series as Points
from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.results import Choice, RunResults
from vmtrace.analyze.reports.run.transfers.packets import FlowPackets, TransferPackets, packets_of
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import ROLES as COLOURS
from vmtrace.analyze.words.palette import TRANSFERS
from vmtrace.analyze.words.units import seconds, share, si

_TIME = Axis("time since the transfer's first packet", "s")
_SPACING = Axis("time between packets", "s", log=True)


class PairPackets:
    """A chosen pair of a run with the packets of its transfers, read once for all figures."""

    def __init__(self, results: RunResults, choice: Choice) -> None:
        self.run = results.name
        self.choice = choice
        found = {role: results.transfer(choice.pair, role) for role in ROLES}
        self.transfers = {role: packets_of(one) for role, one in found.items() if one is not None}

    @property
    def title(self) -> str:
        """Which pair, and why this one."""
        return f"pair {self.choice.pair.sequence} ({self.choice.pair.index}) of {self.run}: {self.choice.reason}"


def rtt(pair: PairPackets, suffix: str) -> Chart:
    """Fig. 4: the RTT of each clean sample through the probe and the data transfer."""
    panels = []
    for role, transfer in pair.transfers.items():
        series = [_series(flow, flow.series.rtt_s, TRANSFERS[role], role) for flow in transfer.flows if flow.at_sender]
        baseline = pair.choice.pair.rtt
        if baseline is not None and baseline.mean_s is not None and series:
            series.append(
                reference("mean of the pings before", (0.0, _end(series)), (baseline.mean_s, baseline.mean_s))
            )
        why = transfer.problem or ("" if series else "captured where the data arrived: no round trips there")
        panels.append(Panel(_panel_title(transfer), Axis("RTT", "s"), tuple(series), why))
    return Chart(
        name=f"figure-4-rtt{suffix}",
        title=f"Round-trip time, {pair.title}",
        caption="Each point is a clean sample, seen where the data was sent. Dashed: the baseline before the pair.",
        x=_TIME,
        panels=tuple(panels),
    )


def spacing(pair: PairPackets, figure: str, suffix: str) -> Chart:
    """Figs. 5 and 7: the time from each data packet to the next, where they were sent."""
    return Chart(
        name=f"{figure}{suffix}",
        title=f"Time between packets, {pair.title}",
        caption="Time since the data packet before. Rings are unusually long pauses for this transfer.",
        x=_TIME,
        panels=tuple(_spacing_panel(transfer) for transfer in pair.transfers.values()),
    )


def spacing_and_window(pair: PairPackets, suffix: str) -> Chart:
    """Fig. 8: spacing of the data transfer beside the window that its receiver advertised."""
    transfer = pair.transfers["data"]
    colour = COLOURS["window"]
    windows = [
        one
        for flow in transfer.flows
        for one in (
            _series(flow, flow.series.window_bytes, colour, "advertised window", "steps"),
            _series(flow, flow.series.flight_bytes, COLOURS["flight"], "in flight", "steps"),
        )
    ]
    limited = transfer.measured.measures.window_limited_fraction
    note = transfer.problem or f"limited by the window for {share(limited)} of the time"
    return Chart(
        name=f"figure-8-spacing-and-window{suffix}",
        title=f"Time between packets and advertised window, {pair.title}",
        caption="Where the window stays far above what is in flight, flow control is not what held the sender.",
        x=_TIME,
        panels=(
            _spacing_panel(transfer),
            Panel("window and flight", Axis("bytes", "B"), tuple(windows), note),
        ),
        shared_x=True,
    )


def _spacing_panel(transfer: TransferPackets) -> Panel:
    colour = TRANSFERS[transfer.measured.transfer.role]
    return Panel(_panel_title(transfer), _SPACING, _spacing_series(transfer, colour), transfer.problem or "")


def _spacing_series(transfer: TransferPackets, colour: str) -> tuple[Series, ...]:
    role = transfer.measured.transfer.role
    series = [_series(flow, flow.series.spacing_s, colour, role) for flow in transfer.flows]
    marked = [
        _series(flow, flow.series.anomalies(), COLOURS["retransmission"], "oversize", symbol="ring")
        for flow in transfer.flows
    ]
    mean_s = transfer.measured.measures.spacing_mean_s
    lines = []
    if mean_s and any(len(one.x) for one in series):
        lines.append(reference("mean time between packets", (0.0, _end(series)), (mean_s, mean_s)))
    return (*series, *(one for one in marked if len(one.x)), *lines)


def _series(
    flow: FlowPackets, points: Points, colour: str, name: str, style: str = "points", symbol: str = "circle"
) -> Series:
    whole = " ".join(filter(None, (name, flow.name)))
    return Series(
        whole,
        _floats(points.time_s) + flow.offset_s,
        _floats(points.value),
        colour,
        style="steps" if style == "steps" else "points",
        symbol="ring" if symbol == "ring" else "circle",
    )


def _panel_title(transfer: TransferPackets) -> str:
    one, numbers = transfer.measured.transfer, transfer.measured.measures
    title = f"{one.role}, {si(one.bytes, 'B')} at {si(one.goodput_bps, 'bit/s')}"
    if numbers.rtt_mean_s is not None:
        title += f"; mean RTT {seconds(numbers.rtt_mean_s)}"
    if numbers.loss_rate is not None:
        title += f"; loss {share(numbers.loss_rate)}"
    if numbers.spacing_mean_s is not None:
        title += f"; mean time between packets {seconds(numbers.spacing_mean_s)}"
    return title


def _end(series: list[Series]) -> float:
    return max((float(one.x.max()) for one in series if len(one.x)), default=1.0)


def _floats(values: Floats) -> Floats:
    return np.asarray(values, np.float64)
