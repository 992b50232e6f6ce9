"""Time between data packets without the waits for acknowledgements, and how soon data follows an acknowledgement.

The mean time between packets is duration over packets: it falls where throughput rises, whatever hosts do. The study of
connection pairs on EC2 (its Figs 5 to 7) prints less than that. It can only be the time between data packets that no
acknowledgement came between, as a host hands them on: stable, while throughput varies. All is of the sender's capture.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from vmtrace.analyze.reports.run.measure import Flow
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.trace import TraceError

MOST_PACKETS = 1_000_000
_COLUMNS = ("connection", "time_ns", "from_client", "payload_bytes")


def unwaited(flows: Sequence[Flow]) -> dict[str, Any]:
    """The fields of `Measures`; none where no sender was captured, or its packets are too many to be looked at."""
    ours = [flow for flow in flows if flow.at_sender]
    if not ours or sum(flow.row.get("packets") or 0 for flow in ours) > MOST_PACKETS:
        return {}
    within, after = list[Floats](), list[Floats]()
    try:
        for flow in ours:
            packets = pa.table(flow.trace.packets(flow.connection, columns=_COLUMNS))
            forth = packets["from_client"].to_numpy() == (flow.direction == "client_to_server")
            data = forth & (packets["payload_bytes"].to_numpy() > 0)
            one, other = gaps_s(packets["time_ns"].to_numpy(), data, ~forth)
            within.append(one)
            after.append(other)
    except (OSError, TraceError):
        return {}
    unwaited_s, after_s = np.concatenate(within), np.concatenate(after)
    return {
        "unwaited_samples": len(unwaited_s),
        "unwaited_mean_s": float(unwaited_s.mean()) if len(unwaited_s) else None,
        "unwaited_median_s": float(np.median(unwaited_s)) if len(unwaited_s) else None,
        "ack_to_data_samples": len(after_s),
        "ack_to_data_median_s": float(np.median(after_s)) if len(after_s) else None,
    }


def gaps_s(time_ns: Any, data: Any, back: Any) -> tuple[Floats, Floats]:
    """Of packets in order: times between data with nothing from the other end between them; and, where something was,
    from the last of it to the data that follows. `data` and `back` say which packets are which."""
    places = np.flatnonzero(data)
    if len(places) < 2:
        return np.empty(0), np.empty(0)
    last_back = np.maximum.accumulate(np.where(back, np.arange(len(back)), -1))[places]
    waited = last_back[1:] > places[:-1]
    between_ns = np.diff(time_ns[places])
    after_ns = time_ns[places[1:]] - time_ns[last_back[1:]]
    return between_ns[~waited] / 1e9, after_ns[waited] / 1e9
