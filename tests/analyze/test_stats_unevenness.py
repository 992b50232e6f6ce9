"""Distances between events: independent ones are not called uneven, and bursts of several kinds are."""

import numpy as np
import pytest

from vmtrace.analyze.reports.run.losses.bursts import LEVEL
from vmtrace.analyze.stats.unevenness import Unevenness, together, unevenness

WORLDS = 200


def independent(random: np.random.Generator, n: int, share: float) -> np.ndarray:
    return np.flatnonzero(random.random(n) < share)


@pytest.mark.parametrize(("n", "share"), [(300, 0.05), (3_000, 0.01), (3_000, 0.2), (20_000, 0.001)])
def test_independent_hits_are_called_uneven_as_often_as_the_level_says(n: int, share: float) -> None:
    random = np.random.default_rng(5)
    found = [one for _ in range(WORLDS) if (one := unevenness(independent(random, n, share), n)) is not None]
    assert len(found) > 0.9 * WORLDS
    assert sum(one.p_value < 0.05 for one in found) <= 0.05 * WORLDS + 8, "some 2.6 deviations above the level"
    assert np.exp(np.mean([np.log(one.ratio) for one in found])) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("runs", [6, 30])
@pytest.mark.parametrize("seed", [11, 1000, 2000])
def test_of_forty_null_runs_two_at_most_are_called_uneven(runs: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    worlds = [
        together([one for _ in range(runs) if (one := unevenness(independent(random, 1_000, 0.02), 1_000)) is not None])
        for _ in range(40)
    ]
    assert sum(one is not None and one.p_value < LEVEL for one in worlds) <= 2, "of 40; 1 in 100 has more"


def test_bursts_of_neighbours_are_uneven() -> None:
    starts = np.random.default_rng(3).choice(400, 12, replace=False) * 10
    found = unevenness(np.concatenate([starts + place for place in range(5)]), 4_000)
    assert found is not None
    assert (found.hits, found.p_value < 0.001) == (60, True)
    assert found.ratio > 1.8


def test_every_second_place_of_a_stretch_is_a_burst_too() -> None:
    """A full queue drops so: no two losses are neighbours."""
    found = unevenness(np.arange(500.0, 600, 2), 5_000)
    assert found is not None
    assert found.chance < 0.001


def test_hits_in_step_are_even() -> None:
    found = unevenness(np.arange(50.0, 5_000, 100), 5_000)
    assert found is not None
    assert found.chance > 0.999
    assert found.ratio < 0.2


@pytest.mark.parametrize(("places", "n"), [([], 99), ([1, 5, 9, 11], 99), ([1, 1, 1, 1, 1, 2], 99), (range(60), 99)])
def test_too_few_or_too_many_hits_have_no_test(places: list[int], n: int) -> None:
    assert unevenness(np.array(places), n) is None


def test_several_series_weigh_by_their_hits() -> None:
    both = together([Unevenness(900, 1.0, 0.5), Unevenness(100, 3.0, 0.0005)])
    assert both is not None
    assert (both.hits, round(both.ratio, 3)) == (1000, round(3**0.1, 3))
    assert 0.1 < both.chance < 0.2, "3.29 deviations, with a weight of a tenth of the root"
    assert together([]) is None


def test_the_same_series_gives_the_same_chance() -> None:
    places = np.random.default_rng(1).choice(2_000, 40, replace=False).astype(np.float64)
    assert unevenness(places, 2_000) == unevenness(places[::-1], 2_000)
