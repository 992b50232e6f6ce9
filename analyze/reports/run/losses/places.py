"""Where in its stream a transfer lost segments, and whether they lie together.

The stream is cut into pieces of a segment. Lost are those that were retransmitted, once however often; only the capture
at the sender shows them all. Where the sender retransmitted what had arrived, as a timeout makes it do, retransmissions
are no places of losses: then there is no test.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from vmtrace.analyze.reports.run.measure import Flow
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.stats.unevenness import FEWEST, together, unevenness
from vmtrace.analyze.trace import TraceError

MOST_PACKETS = 1_000_000
MOST_SPURIOUS = 0.1
"""Of the retransmissions."""
_COLUMNS = ("from_client", "kind", "sequence", "payload_bytes")


def loss_gaps(flows: Sequence[Flow]) -> dict[str, Any]:
    """The fields of `Measures`; none where losses are too few, or the sender was not captured."""
    ours = [flow for flow in flows if flow.at_sender and _is_testable(flow)]
    if not ours or sum(flow.row.get("packets") or 0 for flow in ours) > MOST_PACKETS:
        return {}
    try:
        spread = together([found for flow in ours if (found := unevenness(*_lost(flow))) is not None])
    except (OSError, TraceError):
        return {}
    if spread is None:
        return {}
    return {"loss_gap_losses": spread.hits, "loss_gap_ratio": spread.ratio, "loss_gap_chance": spread.chance}


def _is_testable(flow: Flow) -> bool:
    retransmitted = flow.get("loss_retransmitted_segments") or 0
    spurious = flow.get("loss_spurious_segments")
    return retransmitted >= FEWEST and spurious is not None and spurious <= MOST_SPURIOUS * retransmitted


def _lost(flow: Flow) -> tuple[Floats, int]:
    packets = pa.table(flow.trace.packets(flow.connection, columns=_COLUMNS))
    forth = packets["from_client"].to_numpy() == (flow.direction == "client_to_server")
    there = forth & (packets["payload_bytes"].to_numpy() > 0)
    again = np.array([kind == "retransmission" for kind in packets["kind"].to_pylist()], bool)[there]
    return lost_places(packets["sequence"].to_numpy()[there], packets["payload_bytes"].to_numpy()[there], again)


def lost_places(sequence: Any, payload_bytes: Any, again: Any) -> tuple[Floats, int]:
    """The places of lost segments, and how many places the stream has; `again` says what is a retransmission.

    A segment is as long as most retransmissions are: data itself may be captured as several at once.
    """
    if not again.any():
        return np.empty(0), 0
    lengths, counts = np.unique(payload_bytes[again], return_counts=True)
    segment = int(lengths[counts.argmax()])
    # Segments seldom begin at whole multiples of their length: each counts once, where it begins.
    first, many = sequence[again] // segment, np.maximum(1, np.rint(payload_bytes[again] / segment)).astype(np.int64)
    places = np.concatenate([np.arange(one, one + count) for one, count in zip(first, many, strict=True)])
    return places.astype(np.float64), int(-(-int((sequence + payload_bytes).max()) // segment))
