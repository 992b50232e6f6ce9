"""What the packets of each step of a surge or sweep say: what limited its direction, and how fast data came.

Of the connections of a capture the intervals of the engine's factors (docs/verdict.md) are cut to the step, in the
direction that it measured alone: a connection that lives on is another one's evidence in the next step. Data is counted
in bins of 5 ms as it arrived: of downloads the packets themselves, of uploads what their receiver acknowledged, since
a sender's own packets say nothing of the rate behind them. A file that was thinned has no packets to count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.reports.storage.packet_facts import captures_of_campaign, facts_path
from vmtrace.analyze.reports.storage.requests import Progress
from vmtrace.analyze.reports.storage.steps import SurgeStep, SweepStep
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.trace import Options, Trace, TraceError, read

if TYPE_CHECKING:
    import pyarrow as pa

BIN_NS = 5_000_000
_MOST_BINS = 4_000_000
_COLUMNS = ("connection", "time_ns", "from_client", "wire_bytes", "payload_bytes", "acknowledgement", "sacked_bytes",
    "window_bytes",
)  # fmt: skip
_SEGMENT_BYTES = 1460
"""A window with less room is closed."""
_SIDES = {"upload": "client_to_server", "download": "server_to_client"}
Step = SurgeStep | SweepStep


@dataclass(slots=True)
class StepEvidence:
    """Of one step."""

    seconds: Counter[str] = field(default_factory=Counter)
    """By factor, over all connections."""
    bins_bytes: Floats = field(default_factory=lambda: np.zeros(0))
    """On the wire, with headers; empty without packets."""
    acknowledged: bool = False
    """Counted by acknowledgements, as uploads are."""
    closed_s: float = 0.0
    """Time in which the service's window had no room for a segment, over all connections of an upload."""


def step_evidence(
    folder: Path,
    steps: Sequence[Step],
    progress: Progress | None,
    problems: list[str],
    ports: Mapping[int, Collection[int]] | None = None,
) -> dict[int, StepEvidence]:
    """By the number of the step; nothing of steps that no packets are of. `ports`: of the requests of each step.

    With them connections of others, such as that which removes objects, are no evidence of what limited a step.
    """
    found: dict[int, StepEvidence] = defaultdict(StepEvidence)
    done_bytes = 0
    for capture in captures_of_campaign(folder):
        before, size_bytes = done_bytes, capture.stat().st_size
        done_bytes += size_bytes
        if facts_path(capture).is_file():
            continue

        def passed_on(consumed_bytes: int, before: int = before) -> object:
            return progress(before + consumed_bytes) if progress is not None else None

        try:
            trace = read(capture, options=Options(grouping=Grouping.SEPARATE), progress=passed_on)
            _add(trace, steps, found, ports)
        except (OSError, ValueError, TraceError) as error:
            problems.append(str(error))
    return dict(found)


def direction_of(step: Step) -> str:
    """A sweep uploads."""
    return step.direction if isinstance(step, SurgeStep) else "upload"


def _add(
    trace: Trace, steps: Sequence[Step], found: dict[int, StepEvidence], ports: Mapping[int, Collection[int]] | None
) -> None:
    if not len(trace):
        return
    records = trace.records(range(1, len(trace) + 1))
    for step in steps:
        wanted = None if ports is None else ports.get(step.number, ())
        own = [one for one in records if wanted is None or int(one["client"].rpartition(":")[2]) in wanted]
        if seconds := _seconds(own, step):
            found[step.number].seconds.update(seconds)
    import pyarrow as pa

    packets = pa.table(trace.packets(range(1, len(trace) + 1), columns=_COLUMNS))
    arrived, closed_ns = _arrived(packets), _closed_ns(packets)
    for step in steps:
        if direction_of(step) == "upload":
            within = np.clip(closed_ns, step.start_ns, step.end_ns)
            found[step.number].closed_s += float((within[:, 1] - within[:, 0]).sum()) / 1e9
        bins = _bins(*arrived[direction_of(step)], step)
        if bins.any():
            kept = found[step.number]
            kept.acknowledged = direction_of(step) == "upload"
            kept.bins_bytes = bins if not len(kept.bins_bytes) else kept.bins_bytes + bins


def _seconds(records: Sequence[dict[str, Any]], step: Step) -> Counter[str]:
    seconds: Counter[str] = Counter()
    for record in records:
        for one in record[_SIDES[direction_of(step)]].get("limit_intervals", ()):
            within_ns = min(one["end_ns"], step.end_ns) - max(one["start_ns"], step.start_ns)
            if within_ns > 0:
                seconds[one["factor"]] += within_ns / 1e9
    return seconds


def _closed_ns(packets: pa.Table) -> NDArray[np.int64]:
    """From when to when a window of the service was closed: rows of two times."""
    back = ~packets["from_client"].to_numpy()
    connection, time_ns = packets["connection"].to_numpy()[back], packets["time_ns"].to_numpy()[back]
    window = packets["window_bytes"].to_numpy(zero_copy_only=False)[back].astype(np.float64)
    found = [np.empty((0, 2), np.int64)]
    for number in np.unique(connection):
        own = np.flatnonzero(connection == number)
        closed = np.flatnonzero(window[own][:-1] < _SEGMENT_BYTES)
        found.append(np.column_stack([time_ns[own][closed], time_ns[own][closed + 1]]))
    return np.concatenate(found)


def _arrived(packets: pa.Table) -> dict[str, tuple[NDArray[np.int64], Floats]]:
    """Times, and bytes that were there then, by direction."""
    time_ns = packets["time_ns"].to_numpy()
    back = ~packets["from_client"].to_numpy()
    wire_bytes = packets["wire_bytes"].to_numpy().astype(np.float64)
    return {
        "download": (time_ns[back], wire_bytes[back]),
        "upload": (time_ns[back], _acknowledged(packets, back) * _wire_per_payload(packets, ~back)),
    }


def _acknowledged(packets: pa.Table, back: NDArray[np.bool_]) -> Floats:
    """How many bytes more than before each packet of the server says that it has: beyond a hole, too."""
    connection = packets["connection"].to_numpy()[back]
    reached = sum(
        np.nan_to_num(packets[name].to_numpy(zero_copy_only=False)[back].astype(np.float64))
        for name in ("acknowledgement", "sacked_bytes")
    )
    more = np.zeros(len(reached))
    for number in np.unique(connection):
        own = np.flatnonzero(connection == number)
        highest = np.maximum.accumulate(reached[own])
        more[own] = np.diff(highest, prepend=highest[:1])
    return more


def _wire_per_payload(packets: pa.Table, forth: NDArray[np.bool_]) -> float:
    payload = packets["payload_bytes"].to_numpy()
    data = forth & (payload > 0)
    moved = float(payload[data].sum())
    return float(packets["wire_bytes"].to_numpy()[data].sum()) / moved if moved else 1.0


def _bins(time_ns: NDArray[np.int64], moved_bytes: Floats, step: Step) -> Floats:
    count = min(_MOST_BINS, max(1, (step.end_ns - step.start_ns) // BIN_NS))
    there = (time_ns >= step.start_ns) & (time_ns < step.start_ns + count * BIN_NS)
    places = (time_ns[there] - step.start_ns) // BIN_NS
    return np.bincount(places, moved_bytes[there], int(count)).astype(np.float64)
