"""The sentence on a run's stalls has what the hosts counted meanwhile."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.analyze.test_run_variation import PAIR_S, SECOND, START_NS
from tests.analyze.test_run_variation_intervals import Stalls, noise
from tests.analyze.verdicts import judged
from vmtrace.analyze.reports.run.verdict.counters import counters_sentence, is_starved
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict


@pytest.fixture
def stalls(new_run: Any) -> Stalls:
    made = Stalls(new_run(), pairs=30)
    made.save()
    return made


def test_steal_within_the_stalls_confirms_them(stalls: Stalls) -> None:
    stalls.counters(stalls.seconds(0.4, 0.01) + noise(stalls, 0.02), noise(stalls, 0.05))
    found = counters_sentence(stalls.results(), "host_stall")
    assert found is not None
    assert found.startswith("The host's own counters agree: steal of the sender was 40.9 % during the stalls and 2 %")


def test_no_steal_at_all_does_not(stalls: Stalls) -> None:
    stalls.counters(np.zeros(stalls.pairs * PAIR_S), noise(stalls, 0.05))
    found = counters_sentence(stalls.results(), "host_stall")
    assert found is not None
    assert found.startswith("The hosts' own counters do not show it (steal")


def test_an_application_that_waits_while_there_is_steal_lacked_a_processor(stalls: Stalls) -> None:
    stalls.held = "application"
    stalls.counters(stalls.seconds(0.4, 0.01) + noise(stalls, 0.02), noise(stalls, 0.05))
    found = counters_sentence(stalls.results(), "application")
    assert found is not None
    assert found.startswith("It lacked a processor: steal of the sender was 40.9 % during its waits")
    assert is_starved(stalls.results())
    stalls.counters(np.zeros(stalls.pairs * PAIR_S), noise(stalls, 0.05))
    assert counters_sentence(stalls.results(), "application") is None
    assert not is_starved(stalls.results())


@pytest.mark.parametrize(("steal", "factor"), [(0.4, "host_stall"), (0.1, "application")])
def test_an_application_that_lacked_a_processor_for_its_waits_is_a_host_stall(
    stalls: Stalls, steal: float, factor: str
) -> None:
    stalls.held = "application"
    stalls.counters(stalls.seconds(steal, 0.01) + noise(stalls, 0.02), noise(stalls, 0.05))
    results = stalls.results()
    own = judged("application").as_json()
    transfers = [
        replace(one, measures=replace(one.measures, verdict=own)) if one.transfer.role == "data" else one
        for one in results.transfers
    ]
    found = run_verdict(replace(results, transfers=tuple(transfers)))
    assert (found.factor, found.confidence) == (factor, 0.9)
    assert "It lacked a processor: steal of the sender was " in found.sentence


def test_another_factor_or_a_run_without_counters_has_no_such_sentence(stalls: Stalls) -> None:
    assert counters_sentence(stalls.results(), "host_stall") is None
    stalls.counters(stalls.seconds(0.4, 0.01) + noise(stalls, 0.02), noise(stalls, 0.05))
    assert counters_sentence(stalls.results(), "congestion_window") is None


@pytest.mark.parametrize(("level", "said"), [(0.6, True), (0.1, False)])
def test_threads_that_always_wait_for_a_processor_lack_one(stalls: Stalls, level: float, said: bool) -> None:
    """Neighbours that never rest: there is no time without waiting to compare with."""
    stalls.held = "application"
    folder = stalls.made.folder / "host"
    folder.mkdir()
    waited = np.cumsum(np.full(stalls.pairs * PAIR_S + 1, level) + noise_of(stalls))
    rows = "".join(f"{START_NS + second * SECOND},{value:.6f}\n" for second, value in enumerate(waited))
    (folder / "sender.csv").write_text(f"# interval_s: 1.0\ntime_ns,run_delay_s\n{rows}")
    found = counters_sentence(stalls.results(), "application")
    assert (found is not None) == said == is_starved(stalls.results())
    if found is not None:
        assert found.startswith("It lacked a processor, as a host that stalls: the program's threads waiting for a")


def noise_of(stalls: Stalls) -> Any:
    return stalls.random.uniform(0, 0.05, stalls.pairs * PAIR_S + 1)
