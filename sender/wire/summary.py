"""TCP_INFO's last samples of a transfer's connections, summed up for `pairs.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable

from vmtrace.capture.tcp_info import TcpInfoSample
from vmtrace.sender.wire.records import TcpSummary


def tcp_summary(samples: Iterable[TcpInfoSample], direction: str) -> TcpSummary | None:
    """Of the streams that carried data in this direction; None when none was sampled."""
    streams = [sample for sample in samples if sample.direction == direction]
    if not streams:
        return None
    rtts = [sample.srtt_s for sample in streams if sample.srtt_s is not None]
    return TcpSummary(
        congestion_control=streams[0].congestion_control,
        retransmitted_segments=_total([sample.retransmitted_segments for sample in streams]),
        segments_out=_total([sample.segments_out for sample in streams]),
        min_rtt_s=min((sample.min_rtt_s for sample in streams if sample.min_rtt_s is not None), default=None),
        srtt_s=sum(rtts) / len(rtts) if rtts else None,
        delivery_rate_bps=_total([sample.delivery_rate_bps for sample in streams]),
    )


def _total(values: list[int | None]) -> int | None:
    """The sum; None if one is not known, because the rest alone would look like all."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
