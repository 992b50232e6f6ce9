"""Two samples: answers known by hand, error rates as promised, and what must hold for any values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmtrace.analyze.stats.estimates import Floats, holm
from vmtrace.analyze.stats.two_samples import Group, difference

VALUES = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=25)


def group(before: list[float] | Floats, after: list[float] | Floats) -> Group:
    return Group(np.array(before, np.float64), np.array(after, np.float64))


def test_cliffs_delta_counts_pairs() -> None:
    # Of 12 pairs after is larger in 7, smaller in 3, the same in 2.
    found = difference([group([1, 2, 3], [1, 2, 4, 5])]).cliffs_delta
    assert found.value == pytest.approx((7 - 3) / 12)
    assert difference([group([1, 2], [3, 4])]).cliffs_delta.value == 1
    assert difference([group([3, 4], [1, 2])]).cliffs_delta.value == -1


def test_ratio_and_difference_are_after_against_before() -> None:
    found = difference([group([10, 20, 30], [10, 40, 100])])
    assert found.ratio_of_medians.value == pytest.approx(2)
    assert found.difference_of_means.value == 30


def test_there_is_no_ratio_to_nothing_but_a_difference() -> None:
    found = difference([group([0, 0, 0, 0, 0, 0], [0, 0.1, 0.1, 0.1, 0.1, 0.1])])
    assert found.ratio_of_medians.value is None
    assert found.difference_of_means.value == pytest.approx(0.5 / 6)


def test_groups_without_a_ratio_leave_none_for_all() -> None:
    nothing, something = [0.0] * 7, [1.0] * 7
    found = difference([group(nothing, something), group(something, nothing)])
    assert found.ratio_of_medians.value is None
    assert found.ratio_of_medians.low is None
    assert found.difference_of_means.value == 0
    assert found.p == 1


def test_the_p_of_a_full_separation_is_that_of_the_count_of_labellings() -> None:
    found = difference([group(list(range(6)), list(range(10, 16)))])
    # 2 of the 924 ways to deal six labels of twelve are as far apart; 9,999 are drawn.
    assert found.p == pytest.approx(2 / math.comb(12, 6), abs=0.0015)


@pytest.mark.parametrize(("before", "after"), [(5, 60), (60, 5)])
def test_few_values_are_not_tested_and_have_no_interval(before: int, after: int) -> None:
    found = difference([group(np.arange(float(before)), np.arange(float(after)) + 100)])
    assert found.p is None
    assert found.cliffs_delta.value == 1
    assert found.cliffs_delta.low is None


def test_values_that_are_all_the_same_are_not_tested() -> None:
    assert difference([group([3.0] * 10, [3.0] * 10)]).p is None


def test_nothing_on_a_side_gives_nothing() -> None:
    found = difference([group([], [1.0, 2.0])])
    assert (found.p, found.cliffs_delta.value, found.difference_of_means.value) == (None, None, None)
    assert difference([]).p is None


def test_more_of_the_large_ones_is_no_change_when_each_size_stays_as_it_was() -> None:
    small, large = np.linspace(1, 2, 40), np.linspace(100, 101, 40)
    found = difference([group(small, small[::4]), group(large[::4], large)])
    assert found.p is not None
    assert found.p > 0.5
    assert found.ratio_of_medians.value == pytest.approx(1, abs=0.02)
    thrown_together = group(np.concatenate([small, large[::4]]), np.concatenate([small[::4], large]))
    assert (difference([thrown_together]).p or 1) < 0.001


def test_a_change_too_small_for_one_group_is_found_in_many() -> None:
    generator = np.random.default_rng(5)
    groups = [group(size * generator.lognormal(0, 0.2, 12), 1.15 * size * generator.lognormal(0, 0.2, 12))
              for size in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7)]  # fmt: skip
    together = difference(groups)
    assert together.p is not None
    assert together.p < 0.001
    assert together.ratio_of_medians.low is not None
    assert together.ratio_of_medians.high is not None
    assert 1.0 < together.ratio_of_medians.low < 1.15 < together.ratio_of_medians.high


def test_samples_that_do_not_differ_give_false_alarms_as_often_as_stated() -> None:
    generator = np.random.default_rng(11)
    tested = [difference([group(generator.lognormal(size=15), generator.lognormal(size=12))]).p for _ in range(800)]
    alarms = sum(p is not None and p <= 0.05 for p in tested)
    # 5 % of 800 is 40, with a standard deviation of 6.2.
    assert 22 <= alarms <= 58


def test_a_family_of_tests_gives_any_false_alarm_as_rarely_as_stated() -> None:
    generator = np.random.default_rng(12)
    alarms = 0
    for _ in range(200):
        shared = generator.lognormal(size=24)
        metrics = [shared * generator.lognormal(size=24) for _ in range(10)]
        adjusted = holm([difference([group(one[:12], one[12:])]).p for one in metrics])
        alarms += any(p is not None and p <= 0.05 for p in adjusted)
    # At most 5 % of 200 is 10, with a standard deviation of 3.1.
    assert alarms <= 19


def test_a_change_of_a_fifth_is_found() -> None:
    generator = np.random.default_rng(13)
    found = 0
    for _ in range(100):
        before, after = generator.lognormal(0, 0.2, 60), 0.8 * generator.lognormal(0, 0.2, 60)
        result = difference([group(before, after)])
        found += result.p is not None and result.p <= 0.001 and (result.cliffs_delta.value or 0) < 0
    assert found >= 95


@pytest.mark.parametrize(("before", "after"), [(40, 40), (6, 6), (6, 20)])
def test_intervals_cover_as_often_as_they_say(before: int, after: int) -> None:
    generator = np.random.default_rng(14)
    covered = {"ratio": 0, "mean": 0, "delta": 0}
    for _ in range(400):
        found = difference([group(generator.normal(10, 1, before), generator.normal(11, 1, after))], permutations=99)
        # Two normals a standard deviation apart: P(after > before) is 0.7602.
        for name, estimate, truth in (
            ("ratio", found.ratio_of_medians, 1.1),
            ("mean", found.difference_of_means, 1.0),
            ("delta", found.cliffs_delta, 0.5205),
        ):
            assert estimate.low is not None
            assert estimate.high is not None
            covered[name] += estimate.low <= truth <= estimate.high
    assert {name: 0.925 <= number / 400 <= 0.985 for name, number in covered.items()} == dict.fromkeys(covered, True)


def test_the_difference_of_many_groups_of_few_is_covered_too() -> None:
    generator = np.random.default_rng(15)
    covered = 0
    for _ in range(200):
        groups = [group(generator.normal(10, 1, 6), generator.normal(11, 1, 6)) for _ in range(5)]
        found = difference(groups, permutations=9).difference_of_means
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1 <= found.high
    assert 0.91 <= covered / 200 <= 0.985


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_ratio_too_large_for_a_number_is_none() -> None:
    found = difference([group([3.44165998728231e-304], [61871.0])], permutations=199)
    assert found.ratio_of_medians.value is None


@settings(max_examples=60, deadline=None)
@given(VALUES, VALUES)
def test_what_holds_for_any_values(before: list[float], after: list[float]) -> None:
    found = difference([group(before, after)], permutations=199)
    turned = difference([group(after, before)], permutations=199)
    shuffled = difference([group(before[::-1], after[::-1])], permutations=199)
    assert found == shuffled
    assert found.cliffs_delta.value is not None
    assert turned.cliffs_delta.value is not None
    assert -1 <= found.cliffs_delta.value <= 1
    assert found.cliffs_delta.value == pytest.approx(-turned.cliffs_delta.value, abs=1e-9)
    assert found.p is None or 0 < found.p <= 1
    for estimate in (found.ratio_of_medians, found.difference_of_means, found.cliffs_delta):
        if estimate.low is not None and estimate.high is not None:
            assert estimate.low <= estimate.high
