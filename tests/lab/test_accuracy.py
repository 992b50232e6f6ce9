"""vmtrace against the truth of real transfers: the demands of lab/accuracy/demands.py on a cut of the scenarios."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.busy_machine import too_busy
from tests.cut import cut
from tests.lab_runs import lab_run
from vmtrace.lab import namespaces
from vmtrace.lab.accuracy import demands, readings
from vmtrace.lab.accuracy.__main__ import QUICK
from vmtrace.lab.accuracy.demands import Judged
from vmtrace.lab.hosts import ADDRESSES
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.scenario import Run

pytestmark = pytest.mark.alone

# Beyond the quick cut: neither timestamps nor SACK, timeouts, many short connections. `make test-long` takes all.
CUT = (*QUICK, "plain-loss1-cubic-rtt20", "blackout-cubic-rtt40", "short-connections-loss3-rtt20")
NAMES = cut([*CUT, *(name for name in SCENARIOS if name not in CUT)], len(CUT))


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Run]]]:
    """The runs of the tests chosen, made one after another in the background while earlier ones are judged."""
    missing = namespaces.missing_requirement()
    if missing:
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("runs")
    with ThreadPoolExecutor(max_workers=1) as worker:
        yield {name: worker.submit(lab_run, SCENARIOS[name], folder / name, 4) for name in chosen(request.session)}


def chosen(session: pytest.Session) -> list[str]:
    """The scenarios of the tests that this session runs."""
    drawn = (getattr(one, "callspec", None) for one in session.items)
    wanted = {call.params.get("judged") for call in drawn if call is not None}
    return [name for name in SCENARIOS if name in wanted]


@pytest.fixture(scope="module", params=NAMES)
def judged(request: pytest.FixtureRequest, runs: dict[str, Future[Run]]) -> Judged:
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


def test_the_cut_has_something_to_find(runs: dict[str, Future[Run]]) -> None:
    if not set(CUT) <= set(runs):
        pytest.skip("only a part of the cut was chosen")
    agreed: list[Run] = [done for done in (known.result(timeout=300) for known in runs.values()) if done.agreed]
    if not agreed:
        too_busy("no run was honest")
    assert any(done.truth["forward"]["retransmissions_sent"] > 0 for done in agreed)
    assert any(done.truth["forward"]["data_segments_lost"] == 0 for done in agreed)
