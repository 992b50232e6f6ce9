"""The packets of one transfer as series over time, for the figures that look into a transfer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vmtrace.analyze.charts.packet_series import of_connections
from vmtrace.analyze.reports.run.measure import NotMeasuredError, flows_of
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer

if TYPE_CHECKING:
    from vmtrace.analyze.charts.packet_series import ConnectionSeries


@dataclass(frozen=True, slots=True)
class FlowPackets:
    """One connection of the transfer; `offset_s` is its start, from the start of the transfer's first connection."""

    name: str
    series: "ConnectionSeries"
    """Without the rows that they were made of."""
    offset_s: float
    at_sender: bool


@dataclass(frozen=True, slots=True)
class TransferPackets:
    """A transfer and its packets; without packets `problem` says why."""

    measured: MeasuredTransfer
    flows: tuple[FlowPackets, ...]
    problem: str | None


def packets_of(measured: MeasuredTransfer) -> TransferPackets:
    """Read the packets of a transfer from the captures that its numbers come from."""
    try:
        flows, _ = flows_of(measured.transfer, measured.files)
    except NotMeasuredError as error:
        return TransferPackets(measured, (), str(error))
    start_ns = min(int(flow.row["start_ns"]) for flow in flows)
    found = []
    for flow in flows:
        # In one pass over a capture for all of its streams.
        flow.trace.load_packets([one.connection for one in flows if one.trace is flow.trace])
    for number, flow in enumerate(flows, 1):
        (series,) = of_connections(flow.trace, [flow.connection])
        name = f"stream {number}" if len(flows) > 1 else ""
        offset_s = (int(flow.row["start_ns"]) - start_ns) / 1e9
        found.append(FlowPackets(name, series.without_packets(), offset_s, flow.at_sender))
    return TransferPackets(measured, tuple(found), None)
