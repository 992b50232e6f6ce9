"""Requests that were made in place of those that were not: what more of them would have gained."""

import numpy as np
import pytest

from tests.analyze.campaign_made import request
from vmtrace.analyze.reports.storage.hedging import AT_ONCE, REPEATED, HedgingRow, hedging_rows
from vmtrace.analyze.reports.storage.requests import made


def rows_of(times_s: list[float]) -> dict[tuple[str, int], HedgingRow]:
    made_of = made([request(60.0 * n, 8e6 / taken, probe=n) for n, taken in enumerate(times_s)])
    return {(one.manner, one.requests): one for one in hedging_rows(made_of)}


def test_two_at_once_take_a_slow_one_in_a_row_of_fast_ones_away() -> None:
    times = [10.0 if n % 10 == 5 else 1.0 + 0.001 * n / 300 for n in range(300)]
    found = rows_of(times)
    assert found[AT_ONCE, 1].p95_s == pytest.approx(10.0)
    assert found[AT_ONCE, 2].p99_s == pytest.approx(1.0, abs=0.01)
    assert [found[AT_ONCE, number].more_requests for number in (1, 2, 3)] == [0.0, 1.0, 2.0]


def test_where_all_are_slow_together_nothing_is_gained() -> None:
    times = [10.0 if 100 <= n < 200 else 1.0 for n in range(300)]
    found = rows_of(times)
    assert found[AT_ONCE, 1].p95_s == found[AT_ONCE, 2].p95_s == found[AT_ONCE, 3].p95_s == pytest.approx(10.0)


def test_a_repeated_request_costs_its_limit_and_one_in_twenty() -> None:
    chance = np.random.default_rng(1)
    times = [60.0 if n % 40 == 7 else float(one) for n, one in enumerate(chance.uniform(1.0, 2.0, 400))]
    found = rows_of(times)
    assert found[AT_ONCE, 1].p99_s == pytest.approx(60.0)
    repeated_s = found[REPEATED, 2].p99_s
    assert repeated_s is not None
    assert repeated_s < 2.0 + 2.0
    assert found[REPEATED, 2].more_requests == pytest.approx(0.05, abs=0.01)


def test_of_few_requests_nothing_is_said() -> None:
    assert rows_of([1.0] * 39) == {}
    assert rows_of([1.0 + n / 1000 for n in range(60)])[AT_ONCE, 1].p99_s is None
