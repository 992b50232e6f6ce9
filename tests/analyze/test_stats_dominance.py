"""Cliff's delta: its variance by hand, and an interval that holds the true one also where samples hardly overlap."""

import numpy as np
import pytest

from vmtrace.analyze.stats.dominance import Dominance, dominance, interval
from vmtrace.analyze.stats.estimates import Floats


def of(before: list[float] | Floats, after: list[float] | Floats) -> Dominance:
    return dominance(np.sort(np.array(before, np.float64)), np.sort(np.array(after, np.float64)))


def alone(one: Dominance) -> tuple[float, float]:
    return interval([one], np.ones(1))


def test_the_variance_is_that_of_every_pair_written_out() -> None:
    before, after = [1.0, 4, 4, 6], [2.0, 4, 7]
    signs = np.sign(np.subtract.outer(after, before)).T  # rows: before
    n, m = signs.shape
    delta = signs.mean()
    rows, columns = ((signs.mean(axis=axis) - delta) for axis in (1, 0))
    # Cliff 1993, equation 5.
    due = (m * m * (rows**2).sum() + n * n * (columns**2).sum() - ((signs - delta) ** 2).sum()) / (
        n * m * (n - 1) * (m - 1)
    )
    found = of(before, after)
    assert found.delta == pytest.approx(delta)
    assert found.variance == pytest.approx(due)
    assert found.of_before == pytest.approx((rows**2).sum() / (n * (n - 1)))
    assert found.of_after == pytest.approx((columns**2).sum() / (m * (m - 1)))


@pytest.mark.parametrize("sizes", [(6, 6), (12, 12), (6, 30)])
@pytest.mark.parametrize(
    # P(after > before) of two normals so many standard deviations apart: 0.6382, 0.8556, 0.9831.
    ("apart", "delta"),
    [(0.5, 0.2763), (1.5, 0.7112), (3.0, 0.9661)],
)
def test_the_interval_holds_the_true_one_as_often_as_it_says(
    sizes: tuple[int, int], apart: float, delta: float
) -> None:
    random = np.random.default_rng(3)
    found = [alone(of(random.normal(0, 1, sizes[0]), random.normal(apart, 1, sizes[1]))) for _ in range(400)]
    held = sum(low <= delta <= high for low, high in found)
    # Of 400 with 95 % each the number held has a standard deviation of 4.4: 0.011.
    assert 0.91 <= held / 400 <= 0.99
    assert all(-1 <= low <= high <= 1 for low, high in found)


def test_samples_that_do_not_overlap_are_no_proof_that_none_ever_do() -> None:
    low, high = alone(of(list(range(6)), list(range(10, 16))))
    assert high == 1
    assert 0 < low < 0.3, "of six values one in three could lie elsewhere and not have been seen"
    assert alone(of(list(range(10, 16)), list(range(6)))) == pytest.approx((-1, -low))
    many, _ = alone(of(list(range(60)), list(range(100, 160))))
    assert many > 0.8
    of_ten, _ = interval([of(list(range(6)), list(range(10, 16)))] * 10, np.full(10, 0.1))
    assert of_ten == pytest.approx(many, abs=0.05)


def test_values_that_are_all_the_same_leave_room_that_shrinks_with_their_number() -> None:
    few, many = (alone(of([0.0] * n, [0.0] * n)) for n in (6, 60))
    assert few == pytest.approx((-few[1], few[1]))
    assert 0 < many[1] < few[1] < 0.5
