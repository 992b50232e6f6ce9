"""Due times of probes: exponential intervals by a test of their distribution, and a fixed period."""

from itertools import islice, pairwise

import pytest
from scipy.stats import kstest

from vmtrace.providers.kinds.sampling_plan import exponential, late_after_s, periodic


def test_intervals_are_exponential_with_the_mean_asked_for() -> None:
    times = [0.0, *islice(exponential(7.0, "seed"), 5000)]
    intervals = [later - earlier for earlier, later in pairwise(times)]
    assert kstest(intervals, "expon", args=(0, 7.0)).pvalue > 0.01
    assert kstest(intervals, "expon", args=(0, 8.0)).pvalue < 1e-6


def test_the_same_seed_gives_the_same_times_and_another_others() -> None:
    first, same, other = (list(islice(exponential(1.0, seed), 50)) for seed in ("a", "a", "b"))
    assert first == same
    assert first != other


def test_a_period_begins_at_once_and_does_not_drift() -> None:
    assert list(islice(periodic(900.0), 4)) == [0.0, 900.0, 1800.0, 2700.0]


@pytest.mark.parametrize(("interval_s", "late_s"), [(0.1, 0.01), (1.0, 0.01), (120.0, 1.2)])
def test_a_probe_is_late_after_a_hundredth_of_the_interval(interval_s: float, late_s: float) -> None:
    assert late_after_s(interval_s) == pytest.approx(late_s)
