"""One short session, told to a display."""

from __future__ import annotations

from typing import Any

from vmtrace.sender.display.view import Display, RunEnd, RunView
from vmtrace.sender.live import Moving
from vmtrace.sender.plan import Plan

TRANSFER = {"bytes": 1024, "goodput_bps": 2e6}
FINISHED: dict[str, Any] = {
    "sequence": 1,
    "index": "I_0",
    "pair": 1,
    "status": "complete",
    "attempts": 1,
    "error": None,
    "probe": TRANSFER,
    "data": TRANSFER,
}
FAILED: dict[str, Any] = {
    "sequence": 2,
    "index": "I_0",
    "pair": 2,
    "status": "failed",
    "attempts": 5,
    "error": "digests differ",
    "probe": None,
    "data": None,
}
DROPPED: dict[str, Any] = {
    **FINISHED,
    "probe": {**TRANSFER, "capture": {"sender_dropped": 0, "receiver_dropped": 0}},
    "data": {**TRANSFER, "capture": {"sender_dropped": 1546, "receiver_dropped": None, "receiver_error": "no [lo]"}},
}
DROPPED_WORDS = (
    "I_0 pair 1: probe 1 KiB at 2 Mbit/s, data 1 KiB at 2 Mbit/s; data: 1,546 packets not recorded at the sender;"
    " data: capture at the receiver failed: no [lo]"
)


def tell(display: Display, plan: Plan) -> None:
    """What happens in a session of one good and one failed pair."""
    first, second = plan.step(1), plan.step(2)
    assert first is not None
    assert second is not None
    display.started(RunView("run1", "a" * 32, plan, 0, 0.0, "there:5810 (host)", "packets are recorded: here on eth0"))
    display.transfer_begins(first, "probe", first.entry.probe)
    display.moving(Moving(5, 1e6, 0.013, 0.213))
    display.transfer_begins(first, "data", first.entry.data)
    display.moving(Moving(50, 2e6, None, None))
    display.pair_finished(FINISHED)
    display.attempt_failed(second, 1, "there: connection lost [x]", 2.0)
    display.pair_finished(FAILED)
    display.noticed("the receiver records no packets: no right")
    display.fetching(0, 2)
    display.fetched("partial", 1, 2048, "there: connection lost")
    display.ended(RunEnd("complete", None, "complete: [2] pairs", {"pairs_finished": 2}))
    display.close()
