"""Requests that are alike near in time: no difference is found where there is none, and planted ones are."""

import numpy as np
import pytest

from tests.analyze.campaign_made import START_NS, request
from tests.cut import cut
from vmtrace.analyze.reports.storage.campaign_texts import LARGEST_P
from vmtrace.analyze.reports.storage.hours import hour_effect, hour_test_rows
from vmtrace.analyze.reports.storage.modes import modes
from vmtrace.analyze.reports.storage.network_events import change_points
from vmtrace.analyze.reports.storage.probes import successive_rows
from vmtrace.analyze.reports.storage.requests import Requests, made
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.stats.level_shift import level_shifts

DAY_S = 86_400.0
WANDER_S = 7200.0


def alike(times_s: Floats, chance: np.random.Generator, lag_one: float | None) -> Floats:
    """A standard normal series: of this correlation from one to the next, or of a wander of two hours."""
    drawn = chance.standard_normal(len(times_s))
    kept = np.exp(-np.diff(times_s) / WANDER_S) if lag_one is None else np.full(len(times_s) - 1, lag_one)
    values = drawn.copy()
    for place in range(1, len(values)):
        values[place] = kept[place - 1] * values[place - 1] + np.sqrt(1 - kept[place - 1] ** 2) * drawn[place]
    return values


def world(seed: int, days: float, level: Floats | None = None, n: int = 600) -> Requests:
    """Even seeds: r = 0.85; odd ones: a wander of two hours. `level`: factors of the throughput."""
    chance = np.random.default_rng(seed)
    times_s = np.sort(chance.uniform(0, days * DAY_S, n))
    rates = 8e6 * np.exp(0.25 * alike(times_s, chance, None if seed % 2 else 0.85))
    if level is not None:
        rates = rates * level
    return made([request(at, rate, probe=n + 1) for n, (at, rate) in enumerate(zip(times_s, rates, strict=True))])


def false_statements(requests: Requests) -> int:
    tests = hour_test_rows(requests)
    return len(change_points(requests, None)) + bool(tests and tests[0].p_adjusted < LARGEST_P)


@pytest.mark.parametrize("first", cut([0, 1000, 2000], 1))
def test_forty_worlds_without_a_difference_make_two_false_statements_at_most(first: int) -> None:
    worlds = [world(first + seed, (0.4, 2.0, 21.0, 40.0)[seed // 2 % 4]) for seed in range(40)]
    assert sum(map(false_statements, worlds)) <= 2


def test_the_level_of_the_hour_s_effect_is_the_printed_one() -> None:
    found = [hour_effect(one.bps, one.start_ns)[0] for one in (world(seed, 21.0, n=300) for seed in range(40))]
    assert all(p is not None for p in found)
    assert sum(p is not None and p < 0.05 for p in found) <= 5


@pytest.mark.parametrize(("days", "most_missed"), [(0.4, 2), (2.0, 4), (21.0, 1), (40.0, 1)])
def test_a_step_is_found_in_runs_of_any_length(days: float, most_missed: int) -> None:
    level = np.where(np.arange(600) < 330, 1.0, 0.3)
    found = [change_points(world(seed, days, level), None) for seed in range(8)]
    ratios = [max(points, key=lambda one: 1 / one.ratio).ratio for points in found if points]
    assert len(ratios) >= len(found) - most_missed
    assert ratios == pytest.approx([0.3] * len(ratios), rel=0.25)


def test_hours_that_differ_are_found_and_five_days_are_needed() -> None:
    def by_hour(days: int) -> Requests:
        times_s = np.arange(days * 48) * 1800.0
        hour = (times_s + START_NS // 10**9) // 3600 % 24
        noise = np.exp(0.1 * np.random.default_rng(1).standard_normal(len(times_s)))
        return made(
            [request(t, 8e6 * (0.6 if h == 15 else 1.0) * e) for t, h, e in zip(times_s, hour, noise, strict=True)]
        )

    first = hour_test_rows(by_hour(21))[0]
    assert 15 in {first.first_hour, first.second_hour}
    assert first.p_adjusted < 0.01
    assert first.days_effective <= first.days == 21
    three = by_hour(3)
    assert hour_test_rows(three) == []
    assert hour_effect(three.bps, three.start_ns) == (None, None)


def test_pairs_that_are_alike_in_time_are_worth_fewer() -> None:
    def p(wander: bool) -> float:
        chance = np.random.default_rng(5)
        times_s = np.linspace(0.0, 18_000.0, 300)
        first, second = (alike(times_s, chance, None if wander else 0.0) for _ in range(2))
        shared = 0.3 * chance.standard_normal(300)
        rows = [
            request(at, 8e6 * np.exp(0.1 * (value + both)), probe=place, position=position)
            for position, values in ((1, first), (2, second))
            for place, (at, value, both) in enumerate(zip(times_s, values, shared, strict=True))
        ]
        (row,) = successive_rows(made(rows))
        assert row.p is not None
        return row.p

    assert p(wander=True) > 0.05


def test_several_shifts_are_found_together_and_constants_have_none() -> None:
    noise = 0.1 * np.random.default_rng(2).standard_normal(45)
    up_and_down = np.repeat([2.0, 1.0, 2.0], 15) + noise
    found = level_shifts(up_and_down)
    assert found is not None
    assert found.places == (15, 30)
    assert found.sudden == (True, True)
    assert found.p < 0.001
    assert level_shifts(np.full(30, 3.0)) is None
    assert level_shifts(np.arange(9.0)) is None


def test_a_thousand_values_without_their_tails_are_fewer() -> None:
    values = np.random.default_rng(3).normal([[10.0], [20.0]], 1.0, (2, 505)).ravel()
    assert modes(values).number == 2
