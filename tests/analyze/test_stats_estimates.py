"""Statistics of a sample: answers known by hand, and what must hold for any sample."""

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.stats.estimates import Estimate, Floats, mean, median, pearson, ranks, spearman

VALUES = st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=60)
PAIRS = st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=5, max_size=40)


def floats(*values: float) -> Floats:
    return np.array(values, np.float64)


@pytest.mark.parametrize(
    ("n", "rank"),
    # Of n values the interval is from the j-th smallest to the j-th largest: tables of the sign test.
    [(5, None), (6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (25, 8), (50, 18), (100, 40)],
)
def test_the_interval_of_the_median_is_that_of_the_sign_test(n: int, rank: int | None) -> None:
    found = median(np.arange(1, n + 1, dtype=np.float64))
    assert found.value == (n + 1) / 2
    assert (found.low, found.high) == ((None, None) if rank is None else (rank, n + 1 - rank))


def test_the_interval_of_the_median_covers_as_often_as_it_says() -> None:
    generator = np.random.default_rng(7)
    samples = generator.lognormal(size=(4000, 15))
    covered = 0
    for sample in samples:
        found = median(sample)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.0 <= found.high
    # 96.5 % is what 15 values give (the steps are coarse); 0.3 % is the error of 4000 samples.
    assert covered / 4000 == pytest.approx(0.965, abs=0.012)


def test_the_interval_of_the_mean_is_near_that_of_the_normal_for_normal_values() -> None:
    sample = np.random.default_rng(3).normal(10.0, 2.0, 400)
    found = mean(sample)
    half = 1.96 * sample.std(ddof=1) / math.sqrt(400)
    assert found.low == pytest.approx(sample.mean() - half, abs=0.03)
    assert found.high == pytest.approx(sample.mean() + half, abs=0.03)


@pytest.mark.parametrize("n", [6, 10])
def test_the_interval_of_the_mean_of_few_values_covers_about_as_often_as_it_says(n: int) -> None:
    generator = np.random.default_rng(7)
    found = [mean(generator.normal(10.0, 2.0, n)) for _ in range(500)]
    covered = sum(one.low is not None and one.high is not None and one.low <= 10 <= one.high for one in found)
    # 93.2 and 94.7 % of 3000 samples; 1.1 % is the error of 500. Plain percentiles cover 86.2 and 90.0 %.
    assert covered / 500 >= 0.91


def test_few_values_have_no_interval_and_none_have_no_mean() -> None:
    assert mean(floats(1, 2, 3, 4, 5)).low is None
    assert mean(floats(1, 2, 3, 4, 5)).value == 3
    for estimate in (mean, median):
        assert (estimate(floats()).value, estimate(floats()).n) == (None, 0)


def test_what_was_not_measured_does_not_count() -> None:
    assert median(floats(math.nan, 1, 3, math.nan)).value == 2
    assert mean(floats(math.nan, 1, 3)).n == 2


@given(VALUES)
def test_an_interval_holds_its_value_and_lies_within_the_sample(values: list[float]) -> None:
    sample = floats(*values)
    for found in (median(sample), mean(sample)):
        assert found.value is not None
        if found.low is not None and found.high is not None:
            room = 1e-9 * (1 + np.abs(sample).max())
            assert sample.min() - room <= found.low <= found.value + room
            assert found.value - room <= found.high <= sample.max() + room


@given(VALUES, st.randoms())
def test_the_order_of_a_sample_changes_nothing(values: list[float], random: Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert median(floats(*values)) == median(floats(*shuffled))
    assert mean(floats(*values)) == mean(floats(*shuffled))


def test_correlations_known_by_hand() -> None:
    x, y = floats(1, 2, 3, 4, 5), floats(2, 1, 4, 3, 5)
    # Deviations -2 -1 0 1 2 and -1 -2 1 0 2: products 2 2 0 0 4 = 8, squares 10 and 10.
    assert pearson(x, y).value == pytest.approx(0.8)
    # Squared differences of ranks 1 1 1 1 0: 1 - 6 * 4 / (5 * 24).
    assert spearman(x, y).value == pytest.approx(0.8)
    assert pearson(x, -x).value == -1
    assert spearman(x, np.exp(x)).value == 1
    found = pearson(x, np.exp(x)).value
    assert found is not None
    assert found < 1


def test_the_interval_of_a_correlation_is_fishers() -> None:
    # r = 0.5 of 28 pairs: z = 0.5493 +- 1.96 / 5.
    x = np.arange(28, dtype=np.float64)
    noise = np.resize(floats(1, -1, -1, 1), 28)
    noise -= x * (noise @ (x - x.mean())) / ((x - x.mean()) @ (x - x.mean()))
    noise -= noise.mean()
    unit = (x - x.mean()) / np.linalg.norm(x - x.mean())
    y = 0.5 * unit + math.sqrt(0.75) * noise / np.linalg.norm(noise)
    found = pearson(x, y)
    assert found.value == pytest.approx(0.5)
    assert found.low == pytest.approx(math.tanh(0.549306 - 0.391993), abs=1e-5)
    assert found.high == pytest.approx(math.tanh(0.549306 + 0.391993), abs=1e-5)


@pytest.mark.parametrize("correlation", [pearson, spearman])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_correlation_of_1_has_no_interval(correlation: Callable[[Floats, Floats], Estimate], sign: int) -> None:
    found = correlation(floats(1, 2, 3, 4, 5), sign * floats(1, 2, 3, 4, 5))
    assert (found.value, found.low, found.high) == (sign, None, None)


def test_ties_share_their_rank() -> None:
    assert ranks(floats(10, 30, 10, 20)).tolist() == [1.5, 4.0, 1.5, 3.0]


@pytest.mark.parametrize("correlation", [pearson, spearman])
def test_what_never_changes_or_is_too_little_correlates_with_nothing(
    correlation: Callable[[Floats, Floats], Estimate],
) -> None:
    constant = correlation(floats(0.1, 0.1, 0.1, 0.1, 0.1), floats(1, 2, 3, 4, 5))
    few = correlation(floats(1, 2, 3, 4), floats(1, 2, 3, 4))
    assert (constant.value, few.value) == (None, None)
    assert (constant.n, few.n) == (5, 4)


@given(PAIRS)
def test_a_correlation_is_between_its_bounds_and_the_same_both_ways(pairs: list[tuple[float, float]]) -> None:
    x, y = (np.array(values, np.float64) for values in zip(*pairs, strict=True))
    for correlation in (pearson, spearman):
        found, back = correlation(x, y), correlation(y, x)
        if found.value is None:
            assert back.value is None
            continue
        assert back.value == pytest.approx(found.value, abs=1e-9)
        if found.low is None or found.high is None:
            assert abs(found.value) == 1
            continue
        assert -1 <= found.low <= found.value <= found.high <= 1
