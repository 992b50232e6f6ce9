"""Token buckets of real transfers against the path they went over, and none where there was none."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab_runs import checked_run
from vmtrace.analyze.trace import read
from vmtrace.lab.impairments import TokenBucket
from vmtrace.lab.namespaces import missing_requirement
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.scenario import Run

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_requirement()), reason=f"the lab: {missing_requirement()}"),
]


def found(capture: Path) -> dict[str, Any] | None:
    bucket: dict[str, Any] | None = read(capture).json()["connections"][0]["client_to_server"].get("token_bucket")
    return bucket


@pytest.mark.parametrize("kind", ["policer", "shaper"])
def test_kind_burst_and_rate_are_those_of_the_path(kind: str, tmp_path: Path) -> None:
    scenario = SCENARIOS[f"{kind}-cubic-rtt20"]
    truth = scenario.forward.token_bucket
    assert isinstance(truth, TokenBucket)

    def check(done: Run) -> None:
        for capture in (done.sender_pcap, done.receiver_pcap):
            bucket = found(capture)
            assert bucket is not None
            assert bucket["kind"] == kind
            assert bucket["sustained_bps"] == pytest.approx(truth.rate_bps, rel=0.05)
            assert bucket["burst_bytes"] == pytest.approx(truth.burst_bytes, rel=0.1)

    checked_run(scenario, tmp_path, check)


def test_a_full_queue_is_no_token_bucket(tmp_path: Path) -> None:
    def check(done: Run) -> None:
        assert [found(done.sender_pcap), found(done.receiver_pcap)] == [None, None]

    checked_run(SCENARIOS["taildrop-cubic-rtt20"], tmp_path, check)
