"""vmtrace against the truth of real transfers: the demands of lab/accuracy/demands.py on a cut of the scenarios."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.busy_machine import too_busy
from vmtrace.lab import namespaces
from vmtrace.lab.accuracy import demands, readings
from vmtrace.lab.accuracy.__main__ import QUICK
from vmtrace.lab.accuracy.demands import Judged
from vmtrace.lab.hosts import ADDRESSES
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.scenario import Run, run

pytestmark = pytest.mark.alone

# Beyond the quick cut: neither timestamps nor SACK, IPv6, timeouts, many short connections, TLS cut short.
# VMTRACE_ACCURACY=all: all.
CUT = (
    *QUICK,
    "plain-loss1-cubic-rtt20",
    "ipv6-loss1-cubic-rtt20",
    "blackout-cubic-rtt40",
    "short-connections-loss3-rtt20",
    "tls13-download-rtt20",
)
NAMES = list(SCENARIOS) if os.environ.get("VMTRACE_ACCURACY") == "all" else list(CUT)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Future[Run]"]]:
    """The runs, made one after another in the background while earlier ones are judged."""
    missing = namespaces.missing_requirement()
    if missing:
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("runs")
    with ThreadPoolExecutor(max_workers=1) as worker:
        yield {name: worker.submit(run, SCENARIOS[name], folder / name, 4) for name in NAMES}


@pytest.fixture(scope="module", params=NAMES)
def judged(request: pytest.FixtureRequest, runs: dict[str, "Future[Run]"]) -> Judged:
    done = runs[request.param].result(timeout=300)
    if not done.agreed:
        too_busy(done.truth["problems"])
    sender = ADDRESSES[done.truth["scenario"]["ip_version"]]["sender"]
    read = [readings.of_vmtrace(path, sender) for path in (done.sender_pcap, done.receiver_pcap)]
    return demands.judge(done, *read)


@pytest.mark.parametrize("demand", list(demands.DEMANDS))
def test_a_demand_is_met(judged: Judged, demand: str) -> None:
    if demand not in demands.OF_COUNTS and judged.truth["late"]:
        too_busy(judged.truth["late"])
    assert list(demands.DEMANDS[demand](judged)) == []


def test_the_cut_has_something_to_find(runs: dict[str, "Future[Run]"]) -> None:
    agreed: list[Run] = [done for done in (known.result(timeout=300) for known in runs.values()) if done.agreed]
    if not agreed:
        too_busy("no run was honest")
    assert any(done.truth["forward"]["retransmissions_sent"] > 0 for done in agreed)
    assert any(done.truth["forward"]["data_segments_lost"] == 0 for done in agreed)
