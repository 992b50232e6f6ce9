"""A queue in a namespace of its own, a known round trip away: the path's part of each call is that round trip."""

from pathlib import Path

import pytest

from vmtrace.analyze.reports.queues.run_folder import read_queue_run
from vmtrace.analyze.reports.queues.wire import measure
from vmtrace.lab.services.provider_run import Settings, run

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.long]
RTT_S = 0.04


def test_the_path_s_part_of_a_call_is_the_round_trip(tmp_path: Path) -> None:
    words = ("--rate", "5", "--messages", "100", "--wait", "1s")
    settings = Settings("sqs", str(tmp_path), RTT_S, 0, 1_000_000, words)
    assert run(settings) == 0, settings.log_path.read_text()
    found = {row.role: row for row in measure(read_queue_run(settings.run_folder)).call_parts}
    assert {"sender", "deleter"} <= set(found)
    for row in found.values():
        assert RTT_S <= row.path_s < 1.25 * RTT_S
        assert row.path_s + row.service_s + row.client_s == pytest.approx(row.call_s)
