"""Order of findings: two planted faults of known cost, over the emulated path; all of them are `make test-long`."""

from pathlib import Path

import pytest

from tests.cut import cut
from vmtrace.lab.accuracy import ranking
from vmtrace.lab.namespaces import missing_requirement
from vmtrace.lab.scenario import run

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_requirement()), reason=f"the lab: {missing_requirement()}"),
]

PLANS = {one.name: one for one in ranking.plans(seed=20261128, each=1)}
# CI: a SYN's timer beside a slow reader, in one transfer and in two.
FIRST = ("syn-reader-one-1", "syn-reader-two-1")


def test_planted_costs_lie_apart_and_are_drawn_by_the_seed() -> None:
    for one in PLANS.values():
        first, second = one.faults
        assert first.least_s > 1.05 * second.most_s
    assert {one.name: one for one in ranking.plans(seed=20261128, each=1)} == PLANS


@pytest.mark.parametrize("name", cut(sorted(PLANS, key=lambda name: name not in FIRST), len(FIRST)))
def test_the_costlier_fault_comes_first(name: str, tmp_path: Path) -> None:
    planned = PLANS[name]
    captures = [ranking.capture_of(scenario, run(scenario, tmp_path / scenario.name)) for scenario in planned.scenarios]
    shown = ranking.judged(planned, captures)
    assert shown.in_order, shown
