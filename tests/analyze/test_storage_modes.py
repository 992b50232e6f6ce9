"""The number of modes of made samples."""

import numpy as np
import pytest

from vmtrace.analyze.reports.storage.modes import modes

CHANCE = np.random.default_rng(1)


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_groups_that_lie_apart_are_modes(number: int) -> None:
    values = np.concatenate([CHANCE.normal(10 * place, 1.0, 400) for place in range(number)])
    assert modes(values).number == number


def test_one_skewed_group_is_one_mode() -> None:
    assert modes(CHANCE.lognormal(3, 0.6, 1500)).number == 1
    assert modes(CHANCE.exponential(1.0, 1500)).number == 1


def test_too_few_values_or_equal_ones_say_nothing() -> None:
    assert modes(CHANCE.normal(0, 1, 49)).number is None
    assert modes(np.full(100, 3.0)).number is None
    assert modes(np.empty(0)).n == 0
