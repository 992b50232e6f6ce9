"""Association, effect and spread on series whose truth is known, and on chance."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.reports.run.variation.inside_outside import compared
from vmtrace.analyze.reports.run.variation.words import spread_sentence
from vmtrace.analyze.stats.association import associate, centred, effective_number
from vmtrace.analyze.stats.coefficient import coefficient_of_variation
from vmtrace.analyze.stats.effect import effect
from vmtrace.analyze.stats.estimates import Floats, holm
from vmtrace.analyze.stats.spread import relative, spread

ONE_INDEX = np.zeros(60, np.int64)


def noise(seed: int, n: int = 60) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.random.default_rng(seed).normal(size=n)


def drift(seed: int, n: int = 60, memory: float = 0.9) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """A series that forgets slowly."""
    values = noise(seed, n)
    for place in range(1, n):
        values[place] += memory * values[place - 1]
    return values


def test_a_dependence_is_found_at_its_lag() -> None:
    x, y = noise(1, 70), noise(2)
    by_lag = {lag: x[5 - lag : 65 - lag] for lag in range(-3, 4)}
    found = associate(0.3 * y - by_lag[2], by_lag, ONE_INDEX)
    assert found.lag == 2, "the metric came two periods before"
    assert found.lags_tried == 7
    assert found.spearman.value is not None
    assert found.spearman.value < -0.9
    assert found.p_value is not None
    assert found.p_value < 1e-6


def test_a_lag_that_is_hardly_better_than_none_is_not_taken() -> None:
    smooth = np.sin(np.arange(70) / 9)
    by_lag = {lag: smooth[5 - lag : 65 - lag] + 0.3 * noise(9) for lag in (-1, 0, 1)}
    assert associate(-by_lag[1] + 0.5 * noise(3), by_lag, ONE_INDEX).lag == 0


def share_of_false_alarms(make: Any, lags: int = 1) -> float:
    alarms = 0
    for seed in range(300):
        x, y = make(2 * seed, 60 + lags - 1), make(2 * seed + 1)
        by_lag = {lag: x[lag : lag + 60] for lag in range(lags)}
        p_value = associate(y, by_lag, ONE_INDEX).p_value
        alarms += p_value is not None and p_value < 0.05
    return alarms / 300


@pytest.mark.parametrize(("transfers", "alike"), [(8, 0.0), (30, 0.0), (30, 0.8), (100, 0.6)])
def test_chance_is_called_a_difference_no_more_often_than_the_level_says_also_if_both_drift(
    transfers: int, alike: float
) -> None:
    random = np.random.default_rng(20110701)
    transfer = np.repeat(np.arange(transfers), 4)
    found = []
    for _ in range(200):
        value, amount = (np.repeat(drifting(random, transfers, alike), 4) for _ in range(2))
        value = np.exp(value) * (1 + 0.3 * random.random(len(value)))
        amount = np.clip(0.4 + 0.3 * amount + 0.2 * random.normal(size=len(amount)), 0, 1)
        found.append(compared(value, amount, 1 - amount, transfer).z)
    tested = [abs(z) for z in found if z is not None]
    assert len(tested) > 100
    assert sum(z > 1.96 for z in tested) / len(tested) < 0.09


def drifting(random: np.random.Generator, length: int, alike: float) -> Floats:
    """Normal values, each as much like the one before."""
    values = random.normal(size=length)
    for place in range(1, length):
        values[place] = alike * values[place - 1] + np.sqrt(1 - alike**2) * values[place]
    return values


def test_a_difference_between_inside_and_outside_has_an_interval_that_holds_it() -> None:
    random = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        transfer = np.repeat(np.arange(20), 4)
        inside = (np.arange(80) % 4 == 1).astype(float)
        value = np.repeat(random.normal(size=20), 4) + random.normal(size=80) + 2.0 * inside
        found = compared(value, inside, 1 - inside, transfer).difference
        assert found.low is not None
        assert found.high is not None
        held += found.low < 2.0 < found.high
    assert 0.9 <= held / 200 <= 1.0


def test_few_transfers_or_a_value_that_never_changes_are_no_test() -> None:
    inside, transfer = np.array([1.0, 0.0] * 4), np.repeat(np.arange(4), 2)
    few = compared(np.arange(8.0), inside, 1 - inside, transfer)
    assert (few.z, few.reason) == (None, "values in the intervals of 4 transfers, 5 are needed")
    inside, transfer = np.array([1.0, 0.0] * 6), np.repeat(np.arange(6), 2)
    assert compared(np.full(12, 0.3), inside, 1 - inside, transfer).reason == "it never changed"
    for size in (1e200, 1e-200):
        assert "too large or too small" in (compared(size * np.arange(12.0), inside, 1 - inside, transfer).reason or "")
    assert "no other time" in (compared(np.arange(12.0), np.ones(12), np.zeros(12), transfer).reason or "")
    assert "none of its periods" in (compared(np.arange(12.0), np.zeros(12), np.ones(12), transfer).reason or "")


def test_chance_is_called_a_relation_no_more_often_than_the_level_says() -> None:
    assert share_of_false_alarms(noise) < 0.07
    assert share_of_false_alarms(noise, lags=7) < 0.07, "also where several lags are tried"


def test_two_series_that_drift_by_themselves_are_not_called_related() -> None:
    naive = sum(abs(np.corrcoef(drift(2 * seed), drift(2 * seed + 1))[0, 1]) > 0.254 for seed in range(300)) / 300
    assert naive > 0.3, "as if they were independent, a third would be"
    assert share_of_false_alarms(drift) < 0.07


def test_drifting_transfers_are_worth_fewer_and_independent_ones_all() -> None:
    assert effective_number(drift(1), drift(1)) < 20
    assert effective_number(noise(1), noise(2)) == pytest.approx(60, rel=0.3)
    assert effective_number(np.ones(60), noise(1)) == 60


def test_what_differs_between_indices_is_no_relation_within_them() -> None:
    groups = np.repeat([0, 1], 30)
    large = np.repeat([0.0, 5.0], 30)
    x = noise(1) + large
    found = associate(centred(noise(2) + large, groups), {0: x}, groups)
    assert found.spearman.value is not None
    assert abs(found.spearman.value) < 0.3
    assert np.median(centred(x, groups)[:30]) == pytest.approx(0)


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (np.where(np.arange(60) < 9, 1.0 * np.arange(60), np.nan), "9 transfers with a value, 10 are needed"),
        (np.full(60, 0.07), "it never changed"),
        (np.full(60, np.nan), "0 transfers with a value, 10 are needed"),
    ],
)
def test_where_nothing_can_be_told_it_says_why(x: "np.ndarray[Any, np.dtype[np.float64]]", reason: str) -> None:
    found = associate(noise(1), {0: x}, ONE_INDEX)
    assert (found.reason, found.p_value, found.spearman.value) == (reason, None, None)


def test_corrected_p_values_are_those_of_holms_paper() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=20))
def test_correcting_never_lowers_a_p_value_nor_changes_their_order(p_values: list[float]) -> None:
    adjusted = [value for value in holm(p_values) if value is not None]
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_the_effect_is_between_the_classes_that_the_metric_itself_shows() -> None:
    stolen = np.where(np.arange(60) % 3 == 0, 0.3, 0.01) + np.abs(noise(1)) / 100
    throughput = np.where(stolen > 0.1, 0.5, 1.0) * (1 + noise(2) / 20)
    found = effect(throughput, stolen, "high", "break")
    assert found.transfers_beyond == 20
    assert found.threshold is not None
    assert 0.05 < found.threshold < 0.3
    assert found.lower.value == pytest.approx(0.5, abs=0.05)


def test_the_interval_of_an_effect_holds_the_true_one_about_as_often_as_it_says() -> None:
    x = np.repeat([0.0, 1.0], [40, 20])
    holds = 0
    for seed in range(300):
        lower = effect(np.where(x > 0, 0.6, 1.0) * np.exp(noise(seed) / 5), x, "high", "any").lower
        holds += lower.low is not None and lower.high is not None and lower.low <= 0.4 <= lower.high
    assert 0.91 < holds / 300 < 0.99


def test_a_threshold_is_a_number_that_can_be_said() -> None:
    steal = np.repeat([0.01, 0.02, 0.11, 0.14], 15)
    assert effect(np.ones(60), steal, "high", "break").threshold in (0.02, 0.1, 0.05)
    assert effect(np.ones(60), np.repeat([0.0, 4.0], 30), "high", "any").threshold == 0


def test_for_a_metric_that_harms_when_low_the_low_ones_are_beyond() -> None:
    balance = np.repeat([1.0, 100.0], [20, 40])
    found = effect(np.where(balance < 50, 0.6, 1.0), balance, "low", "break")
    assert found.transfers_beyond == 20
    assert found.lower.value == pytest.approx(0.4)


def test_an_interval_is_wider_for_transfers_that_are_alike_in_time() -> None:
    x = np.arange(60) % 2
    throughput = 1 + noise(1) / 5
    widths = []
    for worth in (1.0, 0.2):
        lower = effect(throughput, x.astype(np.float64), "high", "break", worth).lower
        widths.append((lower.high or 0) - (lower.low or 0))
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.parametrize("x", [np.ones(60), np.r_[np.zeros(57), np.ones(3)], np.full(60, np.nan)])
def test_without_two_classes_there_is_no_effect(x: "np.ndarray[Any, np.dtype[np.float64]]") -> None:
    found = effect(np.ones(60), x, "high", "break")
    assert found.lower.value is None
    assert found.reason is not None


def test_relative_throughput_is_over_the_median_of_an_index_that_has_one() -> None:
    groups = np.array([0, 0, 0, 1, 1])
    found = relative(np.array([10.0, 20.0, 40.0, 5.0, 5.0]), groups)
    assert found[:3].tolist() == [0.5, 1.0, 2.0]
    assert np.isnan(found[3:]).all(), "two transfers have no usual one"


@pytest.mark.parametrize(
    ("deviation", "n", "judgement"),
    [(0.02, 60, "steady"), (0.4, 60, "unstable"), (0.1, 60, "undecided"), (0.4, 5, "too_few")],
)
def test_how_steady_it_is_is_shown_by_the_whole_interval(deviation: float, n: int, judgement: str) -> None:
    assert spread(1 + deviation * noise(4, n)).judgement == judgement


@pytest.mark.parametrize("sizes", [[3] * 10, [3] * 3, [6] * 5, [3] * 5 + [30]])
def test_what_indices_of_few_transfers_have_in_common_is_not_told_too_small(sizes: list[int]) -> None:
    random = np.random.default_rng(8)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    usual = 10.0 ** (groups % 3)
    # In the order of time indices take turns.
    turns = random.permutation(len(groups))
    found = [
        spread(relative((usual * random.gamma(100.0, 0.01, len(groups)))[turns], groups[turns]), groups[turns])
        for _ in range(400)
    ]
    values = [one.coefficient_of_variation.value for one in found]
    assert np.sqrt(np.mean(np.square(values))) == pytest.approx(0.1, abs=0.003)  # type: ignore[arg-type]
    assert sum(one.judgement == "steady" for one in found) <= 20, "2.5 % is 10, give or take 3"
    assert sum(one.judgement == "unstable" for one in found) <= 25


def test_what_is_alone_in_its_index_does_not_count() -> None:
    values, groups = np.array([1.0, 2, 3, 50]), np.array([0, 0, 0, 1])
    assert coefficient_of_variation(values, groups) == coefficient_of_variation(values[:3])
    assert coefficient_of_variation(values[2:], groups[2:]).value is None


@pytest.mark.parametrize("n", [6, 12, 40])
def test_the_interval_of_the_coefficient_of_variation_holds_the_true_one_about_as_often_as_it_says(n: int) -> None:
    random = np.random.default_rng(5)
    found = [coefficient_of_variation(random.gamma(100.0, 1.0, n)) for _ in range(400)]
    below = sum(one.high is not None and one.high < 0.1 for one in found)
    above = sum(one.low is not None and one.low > 0.1 for one in found)
    # 2.5 % each way is what it says: 10 of 400, give or take 3; the rest is what a bootstrap of few values is off.
    assert below <= 25, "what is unstable is called steady"
    assert above <= 25, "what is steady is called unstable"


def test_throughput_that_varies_by_more_than_its_mean_is_not_told_as_all_of_it() -> None:
    found = spread(np.resize([0.0, 0.0, 1.0, 0.0, 0.0, 9.0], 60))
    assert found.coefficient_of_variation.value == pytest.approx(1.9966, abs=1e-4)
    assert "variation 200 % [" in spread_sentence("data", found)


def test_what_hardly_ever_differs_has_an_interval_too() -> None:
    found = coefficient_of_variation(np.r_[np.ones(59), 1e-3])
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= math.sqrt(60)  # type: ignore[operator]
    same = coefficient_of_variation(np.ones(60))
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_the_coefficient_of_variation_is_that_of_the_sample() -> None:
    values = np.array([1.0, 2, 3, 4, 5, 6, 7])
    found = coefficient_of_variation(values)
    assert found.value == pytest.approx(values.std(ddof=1) / 4)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high  # type: ignore[operator]
    assert coefficient_of_variation(values[:1]).value is None
