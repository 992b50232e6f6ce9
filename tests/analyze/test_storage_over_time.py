"""Throughput along runs of hours and days: the line through the transactions, and hours and days."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from tests.analyze.storage_made import START_NS, exchange, measured, run_of, stored
from vmtrace.analyze.reports.storage import over_time
from vmtrace.analyze.reports.storage.charts import charts
from vmtrace.analyze.reports.storage.document import transaction_rows
from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.over_time import (
    DAY,
    DAY_NS,
    HOUR,
    HOUR_NS,
    HOUR_OF_DAY,
    period_rows,
    running_median,
    smoothed_line_bps,
)
from vmtrace.analyze.reports.storage.tables import reports_of
from vmtrace.analyze.reports.storage.texts import tables

MINUTE_NS = 60 * 10**9
MIDNIGHT_NS = 1_699_920_000 * 10**9
"""The last one before `START_NS`, UTC."""


def at(
    number: int, start_ns: int, rate_bps: float, workload: str = "10MB", status: str = "complete"
) -> MeasuredTransaction:
    """A transaction of one object that was moved with this rate."""
    since_ms = (start_ns - START_NS) / 1e6
    said = exchange(since_ms, since_ms + 1, since_ms + 8 * 10_000 / rate_bps * 1e3)
    one = stored(said, 10_000)
    return measured([one], number=number, start_ns=start_ns, workload=workload, status=status)


def run_at(*rows: tuple[int, float]) -> MeasuredRun:
    return run_of(*(at(number, start_ns, rate) for number, (start_ns, rate) in enumerate(rows, 1)))


def test_the_line_is_the_median_of_as_many_before_as_after() -> None:
    values = [float(value) for value in (5, 1, 9, 2, 8, 3, 7, 4, 6, 100, 6)]
    times = [place * 20 * MINUTE_NS for place in range(len(values))]
    line = running_median(times, values)
    assert line[:2] == [None, None], "fewer than two on a side"
    assert line[-2:] == [None, None]
    assert line[2] == np.median(values[:5])
    assert line[5] == np.median(values[1:10]), "four on each side, though only one is within half an hour"


def test_the_line_takes_all_within_half_an_hour_and_fifty_on_a_side_at_the_most() -> None:
    times = [place * MINUTE_NS for place in range(201)]
    values = [float(place % 7) for place in range(201)]
    assert running_median(times, values)[100] == np.median(values[70:131])
    dense = [place * MINUTE_NS // 10 for place in range(201)]
    assert running_median(dense, values)[100] == np.median(values[50:151])


def test_a_step_stays_where_it_is_and_an_outlier_leaves_no_trace() -> None:
    times = [place * 10 * MINUTE_NS for place in range(40)]
    values = [10.0] * 20 + [30.0] * 20
    values[7], values[30] = 500.0, 0.1
    line = running_median(times, values)
    assert set(line[2:20]) == {10.0}
    assert set(line[20:38]) == {30.0}


def test_a_pause_of_the_campaign_is_no_stretch_of_it() -> None:
    before = [place * 10 * MINUTE_NS for place in range(10)]
    times = before + [before[-1] + 7 * HOUR_NS + time for time in before]
    line = running_median(times, [1.0] * 10 + [2.0] * 10)
    assert line == [None, None, *[1.0] * 6, None, None, None, None, *[2.0] * 6, None, None]


def test_workloads_and_directions_have_lines_of_their_own_and_failures_none() -> None:
    rows = []
    for place in range(20):
        start_ns = START_NS + place * MINUTE_NS
        rows.append(at(2 * place + 1, start_ns, 1e6))
        rows.append(at(2 * place + 2, start_ns + 1, 8e6, "1MB", "failed" if place == 9 else "complete"))
    line = smoothed_line_bps(run_of(*rows))
    assert [line[number] for number in range(5, 37, 2)] == pytest.approx([1e6] * 16)
    assert line[20] is None
    assert line[22] == pytest.approx(8e6)
    assert [row.smoothed_bps for row in transaction_rows(run_of(*rows))] == list(line.values())


def test_hours_and_days_are_those_of_utc() -> None:
    run = run_at((MIDNIGHT_NS - 1, 1e6), (MIDNIGHT_NS, 2e6), (MIDNIGHT_NS + HOUR_NS, 4e6), (MIDNIGHT_NS + DAY_NS, 6e6))
    rows = period_rows(run)
    reported = [(row.period, row.start_ns, row.hour, row.whole, row.mean_bps and round(row.mean_bps)) for row in rows]
    assert reported == [
        (HOUR, MIDNIGHT_NS - HOUR_NS, None, 1, 1_000_000),
        (HOUR, MIDNIGHT_NS, None, 1, 2_000_000),
        (HOUR, MIDNIGHT_NS + HOUR_NS, None, 1, 4_000_000),
        (HOUR, MIDNIGHT_NS + DAY_NS, None, 1, 6_000_000),
        (DAY, MIDNIGHT_NS - DAY_NS, None, 1, 1_000_000),
        (DAY, MIDNIGHT_NS, None, 2, 3_000_000),
        (DAY, MIDNIGHT_NS + DAY_NS, None, 1, 6_000_000),
        (HOUR_OF_DAY, None, 0, 2, 4_000_000),
        (HOUR_OF_DAY, None, 1, 1, 4_000_000),
        (HOUR_OF_DAY, None, 23, 1, 1_000_000),
    ]


@pytest.mark.parametrize("count", [19, 20])
def test_percentiles_are_reported_from_twenty_on(count: int) -> None:
    rates = [1e6 + 1e5 * place for place in range(count)]
    run = run_at(*((MIDNIGHT_NS + place * MINUTE_NS, rate) for place, rate in enumerate(rates)))
    (hour, day) = period_rows(run)
    assert hour.mean_bps == day.mean_bps == pytest.approx(np.mean(rates), rel=1e-6)
    assert hour.median_bps == pytest.approx(np.median(rates), rel=1e-6)
    if count < 20:
        assert (hour.p5_bps, hour.p95_bps) == (None, None)
    else:
        assert (hour.p5_bps, hour.p95_bps) == pytest.approx(tuple(np.percentile(rates, [5, 95])), rel=1e-6)


def test_an_hour_in_which_all_failed_has_no_numbers() -> None:
    (hour, _) = period_rows(run_of(at(1, MIDNIGHT_NS, 1e6, status="failed")))
    assert (hour.transactions, hour.whole, hour.mean_bps, hour.median_bps) == (1, 0, None, None)


@pytest.mark.parametrize(
    ("hours", "shown"),
    [(1, set()), (3, {HOUR}), (30, {HOUR, DAY}), (60, {DAY, HOUR_OF_DAY})],
    ids=["hour", "hours", "day", "days"],
)
def test_people_see_the_periods_that_the_run_is_long_enough_for(hours: int, shown: set[str]) -> None:
    run = run_at(*((MIDNIGHT_NS + place * HOUR_NS, 1e6) for place in range(hours)))
    found = [one for one in tables(reports_of([run])) if one.name == "periods"]
    assert {row.texts[3] for one in found for row in one.rows} == shown


@pytest.mark.parametrize(("hours", "unit"), [(2, "min"), (100, "d")])
def test_figure_5_has_the_line_and_hours_where_the_run_has(hours: int, unit: str) -> None:
    run = run_at(*((START_NS + place * 20 * MINUTE_NS, 1e6 * (1 + place % 3)) for place in range(3 * hours)))
    (chart,) = [one for one in charts(reports_of([run])) if one.name == "figure-5-over-time"]
    assert chart.x.unit == unit
    (points, line) = chart.panels[0].series
    assert (points.name, points.style, line.name, line.style) == ("run", "points", "run, 10MB smoothed", "line")
    assert points.x[3] == pytest.approx(60 if unit == "min" else 1 / 24)
    assert line.x[0] == points.x[2]
    assert line.y[0] == pytest.approx(2e6)


def test_the_line_of_figure_5_is_broken_where_the_run_paused() -> None:
    before = [START_NS + place * 20 * MINUTE_NS for place in range(10)]
    run = run_at(*((time, 1e6) for time in (*before, *(time + DAY_NS for time in before))))
    (chart,) = [one for one in charts(reports_of([run])) if one.name == "figure-5-over-time"]
    (_, first, second) = chart.panels[0].series
    assert first.name == second.name == "run, 10MB smoothed"
    assert (len(first.x), len(second.x)) == (6, 6)
    assert second.x[0] - first.x[-1] > 20 / 24


def test_the_document_says_the_numbers_of_the_rule() -> None:
    """Who changes the rule changes docs/report.md."""
    assert over_time.NEAR_NS == 30 * MINUTE_NS
    assert over_time.FAR_NS == 6 * HOUR_NS
    assert (over_time.FEWEST_EACH_SIDE, over_time.MOST_EACH_SIDE, over_time.FEWEST_FOR_A_LINE) == (4, 50, 5)
