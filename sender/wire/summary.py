"""TCP_INFO's last samples of a transfer's connections, summed up for `pairs.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, Optional

from capture.tcp_info import LastSample
from sender.wire.records import TcpSummary


def tcp_summary(samples: Iterable[LastSample], direction: str) -> Optional[TcpSummary]:
    """Of the streams that carried data in this direction; None when none was sampled."""
    of_direction = [sample for sample in samples if sample.direction == direction]
    if not of_direction:
        return None
    return TcpSummary(
        congestion_control=of_direction[0].congestion_control,
        retransmitted_segments=_together(sum, [sample.retransmitted_segments for sample in of_direction]),
        segments_out=_together(sum, [sample.segments_out for sample in of_direction]),
        min_rtt_s=_together(min, [sample.min_rtt_s for sample in of_direction]),
        srtt_s=_together(_mean, [sample.srtt_s for sample in of_direction]),
        delivery_rate_bps=_together(sum, [sample.delivery_rate_bps for sample in of_direction]),
    )


def _together(combine: Callable[[list[float]], float], values: Sequence[Optional[float]]) -> Optional[float]:
    known = [value for value in values if value is not None]
    return combine(known) if known else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
