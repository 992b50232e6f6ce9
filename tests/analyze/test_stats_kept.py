"""Results of statistics stay what they were when they were written out by hand, before scipy's distributions.

The numbers here were printed by that code. What goes by Student's t was approximated then (Wallace 1959): such
intervals may differ by as much as it was off.
"""

import warnings

import numpy as np
import pytest

from vmtrace.analyze.reports.run.variation.inside_outside import compared
from vmtrace.analyze.stats import estimates
from vmtrace.analyze.stats.association import associate
from vmtrace.analyze.stats.coefficient import coefficient_of_variation
from vmtrace.analyze.stats.effect import effect
from vmtrace.analyze.stats.estimates import NORMAL_QUANTILE, Estimate, Floats
from vmtrace.analyze.stats.two_samples import Group, difference

Numbers = tuple[float, float, float]
SAME = 1e-8
BY_STUDENT = 0.01


def sample(seed: int, n: int) -> Floats:
    return np.random.default_rng(seed).lognormal(0, 0.6, n)


def numbers(found: Estimate) -> tuple[float | None, float | None, float | None]:
    return found.value, found.low, found.high


@pytest.mark.parametrize(
    ("n", "mean", "median"),
    [
        (6, (1.668200172, 0.6804416997, 2.585459733), (1.859151853, 0.2161084091, 2.903435765)),
        (7, (0.85442743, 0.653767868, 1.068830252), (0.8483324218, 0.5515692216, 1.196316584)),
        (20, (1.013940217, 0.79045446, 1.276814163), (0.8360791615, 0.6035408751, 1.209662695)),
        (200, (1.122067937, 1.016887929, 1.244403583), (0.8855572225, 0.8091144472, 1.017949004)),
    ],
)
def test_means_and_medians(n: int, mean: Numbers, median: Numbers) -> None:
    assert numbers(estimates.mean(sample(n, n))) == pytest.approx(mean, rel=BY_STUDENT)
    assert estimates.mean(sample(n, n)).value == pytest.approx(mean[0], rel=SAME)
    assert numbers(estimates.median(sample(n, n))) == pytest.approx(median, rel=SAME)


@pytest.mark.parametrize(
    ("n", "rank"), [(1, 0), (5, 0), (6, 1), (8, 1), (9, 2), (20, 6), (50, 18), (100, 40), (1000, 469), (5000, 2431)]
)
def test_the_interval_of_a_median_is_between_the_same_order_statistics(n: int, rank: int) -> None:
    found = estimates.median(np.arange(1, n + 1, dtype=np.float64))
    assert (found.low, found.high) == ((rank, n + 1 - rank) if rank else (None, None))


@pytest.mark.parametrize(
    ("n", "pearson", "spearman"),
    [
        (6, (0.8259719816, 0.04371209577, 0.9803669463), (0.8986451053, 0.1237784743, 0.9927169336)),
        (25, (0.8120045312, 0.6138149953, 0.9139093648), (0.8281892513, 0.6031587198, 0.9310994516)),
        (120, (0.6832541887, 0.5743522772, 0.7683924995), (0.6326142449, 0.4984646857, 0.737175339)),
    ],
)
def test_correlations_also_with_ties(n: int, pearson: Numbers, spearman: Numbers) -> None:
    x, y = sample(1, n), sample(1, n) + sample(2, n)
    assert numbers(estimates.pearson(x, y)) == pytest.approx(pearson, rel=SAME)
    assert numbers(estimates.spearman(x, np.round(y, 1))) == pytest.approx(spearman, rel=SAME)


@pytest.mark.parametrize(
    ("n", "m", "groups", "ratio", "mean", "delta", "p"),
    [
        (6, 6, 1, (2.312217426, 1.206964371, 4.529362459), (1.146179469, 0.2912455854, 2.103568893),
         (0.8333333333, 0.3056622473, 0.9693939491), 0.022),
        (12, 20, 1, (1.441099819, 0.8420017363, 2.28591616), (0.4548293734, 0.04070137551, 0.8631390971),
         (0.45, 0.00108217477, 0.7479643827), 0.035),
        (40, 35, 2, (1.597871388, 1.176042332, 1.899357318), (0.6018666176, 0.3374219199, 0.8890807843),
         (0.3414285714, 0.1555112031, 0.5039853188), 0.003),
    ],
)  # fmt: skip
def test_differences_of_two_samples(
    n: int, m: int, groups: int, ratio: Numbers, mean: Numbers, delta: Numbers, p: float
) -> None:
    found = difference([Group(sample(10 + place, n), 1.4 * sample(20 + place, m)) for place in range(groups)], 999)
    assert numbers(found.ratio_of_medians) == pytest.approx(ratio, rel=SAME)
    assert numbers(found.difference_of_means) == pytest.approx(mean, rel=BY_STUDENT)
    assert numbers(found.cliffs_delta) == pytest.approx(delta, rel=BY_STUDENT, abs=1e-4)
    assert found.p == pytest.approx(p, rel=SAME)


@pytest.mark.parametrize(
    ("freedom", "approximated"), [(2, 4.475469731), (5, 2.576968150), (10, 2.228970756), (30, 2.042325920)]
)
def test_students_quantile_is_exact_and_was_near(freedom: float, approximated: float) -> None:
    exact = {2: 4.302652730, 5: 2.570581836, 10: 2.228138852, 30: 2.042272456}
    found = estimates.student_quantile(NORMAL_QUANTILE, freedom)
    assert found == pytest.approx(exact[int(freedom)], rel=1e-9)
    assert found == pytest.approx(approximated, rel=0.05)


def test_students_t_far_out_has_a_normal_deviate_and_comes_back() -> None:
    assert estimates.normal_of_student(0.0, 7) == pytest.approx(0.0, abs=1e-12)
    assert estimates.normal_of_student(estimates.student_quantile(3.0, 9), 9) == pytest.approx(3.0)
    far = estimates.normal_of_student(1e12, 200)
    assert np.isfinite(far)
    assert far > 30
    assert estimates.student_quantile(2.0, float("inf")) == 2.0
    assert estimates.two_sided_p(NORMAL_QUANTILE) == pytest.approx(0.05)


def test_associations_effects_and_coefficients() -> None:
    assert numbers(coefficient_of_variation(sample(5, 20))) == pytest.approx(
        (0.6442342859, 0.5198329632, 0.9494608024), rel=SAME
    )
    x, y = sample(1, 60), sample(1, 60) * 0.5 + sample(2, 60)
    found = associate(y, {0: x}, np.zeros(60, np.int64))
    assert numbers(found.spearman) == pytest.approx((0.448013337, 0.1941760347, 0.6456196172), rel=SAME)
    assert numbers(found.pearson) == pytest.approx((0.5099324526, 0.282532612, 0.6830688149), rel=SAME)
    assert (found.p_value, found.n_effective) == pytest.approx((0.0009331371918, 54.84418778), rel=SAME)
    assert numbers(effect(y, x, "high", "break").lower) == pytest.approx(
        (-0.4891781394, -1.153647749, -0.1122471467), rel=SAME
    )


def test_means_inside_and_outside_of_intervals() -> None:
    inside = np.zeros(80)
    inside[::3] = 1
    found = compared(sample(3, 80), inside, 1 - inside, np.repeat(np.arange(20), 4))
    assert numbers(found.difference) == pytest.approx((0.1668777908, -0.468553139, 0.8023087206), rel=BY_STUDENT)
    assert found.z == pytest.approx(0.5404823611, rel=BY_STUDENT)


def test_a_sample_without_scatter_has_an_interval_of_its_one_value_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numbers(estimates.mean(np.full(9, 2.5))) == (2.5, 2.5, 2.5)
        assert estimates.pearson(np.full(9, 2.5), np.arange(9.0)).value is None
