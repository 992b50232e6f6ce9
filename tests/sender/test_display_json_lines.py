"""One JSON object for each event."""

from __future__ import annotations

import io
import json

from tests.sender.shown import FAILED, FINISHED, tell
from vmtrace.sender.display.json_lines import JsonLines
from vmtrace.sender.plan import Plan


def test_each_event_is_a_line_and_a_pair_its_whole_record(plan: Plan) -> None:
    output = io.StringIO()
    tell(JsonLines(output), plan)
    events = [json.loads(line) for line in output.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        "run_started",
        "pair_finished",
        "attempt_failed",
        "pair_finished",
        "notice",
        "fetched",
        "run_ended",
    ]
    assert events[0]["pairs_planned"] == 3
    assert events[1] == {"event": "pair_finished", **FINISHED}
    assert events[2] == {
        "event": "attempt_failed",
        "sequence": 2,
        "attempt": 1,
        "error": "there: connection lost [x]",
        "wait_s": 2.0,
    }
    assert events[3] == {"event": "pair_finished", **FAILED}
    assert events[6] == {"event": "run_ended", "status": "complete", "error": None, "pairs_finished": 2}
