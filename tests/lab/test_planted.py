"""Planted causes: worlds follow from their seeds, reports are judged as they must be; long: causes are found."""

from pathlib import Path
from typing import Any

import pytest

from tests.busy_machine import where_it_ran
from vmtrace.lab import cpu_quota
from vmtrace.lab.services.planted import WORLDS, World, judged, run

SURGE = WORLDS["surge"](0)


def rows(*said: tuple[str, float | None]) -> dict[str, Any]:
    return {"surge": [{"limited_by": word, "limit_bps": bps} for word, bps in said]}


@pytest.mark.parametrize("kind", sorted(WORLDS))
def test_a_seed_is_one_world_and_all_causes_have_their_turn(kind: str) -> None:
    assert [WORLDS[kind](seed) for seed in range(20)] == [WORLDS[kind](seed) for seed in range(20)]
    causes = [WORLDS[kind](seed).cause for seed in range(20)]
    assert {causes.count(cause) for cause in causes} == {20 // len(set(causes))}


@pytest.mark.parametrize(
    ("found", "right"),
    [
        ([("allowance", 1.0), ("allowance", 1.02), ("cpu", None)], True),
        ([("allowance", 1.0), ("allowance", 1.2), ("cpu", None)], False),
        ([("allowance", 1.0), ("network", 1.0), ("network", 1.0)], False),
        ([("allowance", None)] * 3, False),
    ],
)
def test_most_rows_must_say_the_cause_with_its_rate(found: list[tuple[str, float | None]], right: bool) -> None:
    assert SURGE.cause == "allowance"
    assert SURGE.limit_bps is not None
    record = rows(*((word, None if times is None else times * SURGE.limit_bps) for word, times in found))
    assert judged(SURGE, record).right == right


def test_an_outage_must_have_its_own_fault_and_no_other() -> None:
    own: World = WORLDS["availability"](0)
    assert judged(own, {"outages": [{"fault": "own"}]}).right
    assert not judged(own, {"outages": [{"fault": "own"}, {"fault": "service"}]}).right
    assert not judged(own, {"outages": []}).right


@pytest.mark.root
@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "seed"),
    [("surge", seed) for seed in range(5)] + [("sweep", seed) for seed in range(5)]
    + [("availability", seed) for seed in range(2)],
)  # fmt: skip
def test_a_planted_cause_is_named(kind: str, seed: int, tmp_path: Path) -> None:
    reason = cpu_quota.missing_requirement()
    if reason is not None:
        pytest.skip(reason)
    world = WORLDS[kind](seed)

    def check() -> None:
        found = judged(world, run(world, tmp_path / f"world{len(list(tmp_path.iterdir()))}"))
        assert found.right, found.said

    where_it_ran(check, attempts=2)
