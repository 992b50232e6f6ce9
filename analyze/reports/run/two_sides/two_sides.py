"""A transfer that both sides captured: its packets matched, so that loss is exact and a pause has a place.

The matching is that of `vmtrace.analyze.compare`; here the transfer's own connections are picked out of it, in the
direction that carries its bytes. The numbers have the names that `reports.run.measure.Measures` gives them.
"""

from collections import Counter
from typing import Any

import numpy as np

from vmtrace.analyze.compare import delays
from vmtrace.analyze.compare.comparison import Comparison, DirectionResult, NothingInCommonError, compare
from vmtrace.analyze.compare.gaps import Location
from vmtrace.analyze.read.records.run import Transfer
from vmtrace.analyze.reports.run.measure import Captures, NotMeasuredError

_MOST_PACKETS = 5_000_000
"""Of both captures together: all of them are in memory at once, about 200 bytes each."""
_PLACES = {
    Location.SENDER: "gaps_at_sender",
    Location.PATH: "gaps_on_path",
    Location.RECEIVER: "gaps_at_receiver",
    Location.PATH_OR_RECEIVER: "gaps_path_or_receiver",
    Location.UNKNOWN: "gaps_unlocated",
}
_PAUSES_ELSEWHERE = "pauses_elsewhere_s"
_PAUSES = {
    "pauses_at_sender_s": Location.SENDER,
    "pauses_on_path_s": Location.PATH,
    "pauses_at_receiver_s": Location.RECEIVER,
    _PAUSES_ELSEWHERE: None,
}


def two_sides(transfer: Transfer, captures: Captures) -> dict[str, Any]:
    """What both captures of a transfer say together, or why they say nothing."""
    try:
        traces = captures.trace("sender"), captures.trace("receiver")
        packets = sum(one["packets"] for trace in traces for one in trace.header()["inputs"])
        if packets > _MOST_PACKETS:
            return _problem(f"{packets:,} packets are too many to match in memory: vmtrace compare does it")
        flows = captures.find("sender", transfer.connections, at_sender=True)
        upload = {flow.connection: one.upload for flow, one in zip(flows, transfer.connections, strict=True)}
        return _numbers(compare(*traces), upload)
    except NotMeasuredError as error:
        return _problem(str(error))
    except NothingInCommonError:
        return _problem("the captures of both sides hold no connection in common")


def _problem(reason: str) -> dict[str, Any]:
    return {"two_sides_problem": reason}


def _numbers(found: Comparison, upload: dict[int, bool]) -> dict[str, Any]:
    parts = [
        one.sender_to_receiver if upload[one.sender_connection] else one.receiver_to_sender
        for one in found.connections
        if one.sender_connection in upload
    ]
    if len(parts) < len(upload):
        return _problem("a connection of the transfer is in one side's capture only")
    clock = found.clock
    return {
        **_losses(parts),
        **_delays(parts),
        "clock_offset_s": clock.offset_s,
        "clock_offset_error_s": clock.offset_error_s,
        "clock_skew_ppm": clock.skew_ppm,
        "clock_steps": len(clock.steps) if clock.offset_s is not None else None,
        **_gaps(parts),
    }


def _losses(parts: list[DirectionResult]) -> dict[str, Any]:
    sent = sum(part.sent_data_segments for part in parts)
    lost = sum(part.lost_data_segments for part in parts)
    return {
        "two_sides_data_segments": sent,
        "two_sides_lost_segments": lost,
        "two_sides_loss_rate": lost / sent if sent else None,
    }


def _delays(parts: list[DirectionResult]) -> dict[str, Any]:
    known = [part.delay_s for part in parts if part.one_way_delay.samples]
    summary = delays.summary(np.concatenate(known) if known else np.empty(0))
    return {f"one_way_delay_{name}": getattr(summary, name) for name in ("min_s", "median_s", "p99_s", "max_s")}


def _gaps(parts: list[DirectionResult]) -> dict[str, Any]:
    gaps = [gap for part in parts for gap in part.gaps]
    places = Counter(gap.location for gap in gaps)
    paused_s = dict.fromkeys(_PAUSES, 0.0)
    for gap in gaps:
        name = next((name for name, where in _PAUSES.items() if where == gap.location), _PAUSES_ELSEWHERE)
        paused_s[name] += gap.length_s
    longest = max(gaps, key=lambda gap: gap.length_s, default=None)
    return {
        **{name: places[place] for place, name in _PLACES.items()},
        **paused_s,
        "longest_gap_s": longest.length_s if longest else None,
        "longest_gap_at": longest.location.value if longest else None,
        "longest_gap_reason": longest.reason.value if longest else None,
    }
