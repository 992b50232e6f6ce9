"""The sentence on a run's stalls has what the hosts counted meanwhile."""

from typing import Any

import numpy as np
import pytest

from tests.analyze.test_run_variation import PAIR_S
from tests.analyze.test_run_variation_intervals import Stalls, noise
from vmtrace.analyze.reports.run.verdict.counters import counters_sentence


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
    stalls.counters(np.zeros(stalls.pairs * PAIR_S), noise(stalls, 0.05))
    assert counters_sentence(stalls.results(), "application") is None


def test_another_factor_or_a_run_without_counters_has_no_such_sentence(stalls: Stalls) -> None:
    assert counters_sentence(stalls.results(), "host_stall") is None
    stalls.counters(stalls.seconds(0.4, 0.01) + noise(stalls, 0.02), noise(stalls, 0.05))
    assert counters_sentence(stalls.results(), "congestion_window") is None
