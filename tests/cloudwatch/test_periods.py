"""Periods are aligned, kept for so long, and closed some time after their end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.cloudwatch.errors import CloudWatchError, UsageError
from vmtrace.cloudwatch.periods import Range, aligned, checked_period, is_open, monitoring, plan, spacing_s

NS = 10**9
NOW_NS = 1_800_000_123 * NS
DAY_NS = 86_400 * NS
INSTANTS = st.integers(0, 4_000_000_000 * NS)


@given(INSTANTS, st.integers(0, 100 * DAY_NS), st.sampled_from([1, 5, 60, 120, 300, 3600]))
def test_an_aligned_range_holds_all_and_no_whole_period_more(start_ns: int, length_ns: int, period_s: int) -> None:
    span = aligned(start_ns, start_ns + length_ns, period_s)
    step = period_s * NS
    assert span.start_ns % step == span.end_ns % step == 0
    assert span.start_ns <= start_ns < span.start_ns + step
    assert start_ns + length_ns <= span.end_ns
    assert span.end_ns - step < start_ns + length_ns or span.end_ns == span.start_ns + step
    assert span.end_ns > span.start_ns


def test_an_end_on_a_border_is_exclusive() -> None:
    assert aligned(300 * NS, 600 * NS, 300) == Range(300 * NS, 600 * NS)
    assert aligned(300 * NS, 600 * NS + 1, 300) == Range(300 * NS, 900 * NS)


@given(st.integers(0, 450 * 86_400), st.integers(0, 86_400), st.sampled_from([None, 1, 10, 60, 180, 300, 3600]))
def test_what_is_asked_for_is_kept_at_the_start_of_the_range(age_s: int, length_s: int, wished_s: int | None) -> None:
    start_ns = NOW_NS - age_s * NS
    asked = plan(start_ns, start_ns + length_s * NS, NOW_NS, wished_s, 1800)
    age_of_range_s = (NOW_NS - asked.span.start_ns) / NS
    for finest_s, kept_s in ((60, 3 * 3600), (300, 15 * 86_400), (3600, 63 * 86_400)):
        assert age_of_range_s <= kept_s or asked.period_s % finest_s == 0
    assert asked.span.start_ns % (asked.period_s * NS) == asked.span.end_ns % (asked.period_s * NS) == 0
    assert asked.span.start_ns % (300 * NS) == 0
    assert wished_s is None or asked.period_s % wished_s == 0
    assert asked.span.start_ns <= start_ns
    assert asked.closed_ns() >= start_ns + length_s * NS + 2 * 300 * NS


@pytest.mark.parametrize(
    ("days", "wished_s", "period_s", "words"),
    [
        (1, None, 60, None),
        (20, None, 300, "points of 60 s are kept for 15 days, and the run began 20.0 days ago"),
        (100, None, 3600, "points of 60 s are kept for 15 days, and the run began 100.0 days ago"),
        (1, 10, 60, "points of 10 s are kept for 3 hours, and the run began 1.0 days ago"),
        (20, 60, 300, "points of 60 s are kept for 15 days"),
        (100, 300, 3600, "points of 300 s are kept for 63 days"),
        (20, 600, 600, None),
    ],
)
def test_a_period_that_is_not_kept_any_more_is_made_coarser_and_told(
    days: int, wished_s: int | None, period_s: int, words: str | None
) -> None:
    asked = plan(NOW_NS - days * DAY_NS, NOW_NS - days * DAY_NS + 3600 * NS, NOW_NS, wished_s, 0)
    assert asked.period_s == period_s
    assert (asked.note is None) if words is None else (words in str(asked.note))


def test_nothing_is_kept_for_longer_than_455_days() -> None:
    with pytest.raises(CloudWatchError, match="keeps nothing for longer than 455 days"):
        plan(NOW_NS - 456 * DAY_NS, NOW_NS - 456 * DAY_NS, NOW_NS, None, 0)


def test_the_margin_does_not_reach_into_what_is_kept_in_coarser_periods_only() -> None:
    start_ns = NOW_NS - 15 * DAY_NS + 7200 * NS
    asked = plan(start_ns, start_ns + 600 * NS, NOW_NS, None, 86_400)
    assert asked.period_s == 60
    assert NOW_NS - asked.span.start_ns < 15 * DAY_NS


@pytest.mark.parametrize("period_s", [0, -60, 2, 59, 61, 86_460])
def test_a_period_that_cloudwatch_has_not_is_wrong_usage(period_s: int) -> None:
    with pytest.raises(UsageError, match="multiple of 60"):
        checked_period(period_s)


@pytest.mark.parametrize("period_s", [1, 5, 10, 20, 30, 60, 300, 86_400])
def test_periods_that_cloudwatch_has(period_s: int) -> None:
    assert checked_period(period_s) == period_s


def test_a_value_is_open_until_two_periods_after_its_own() -> None:
    assert is_open(0, 60, 180 * NS - 1)
    assert not is_open(0, 60, 180 * NS)


@given(st.integers(1, 3600), st.lists(st.integers(0, 10_000), min_size=1, unique=True))
def test_the_spacing_divides_all_distances(period_s: int, places: list[int]) -> None:
    found_s = spacing_s([place * period_s * NS for place in places])
    if len(places) == 1:
        assert found_s is None
    else:
        assert found_s is not None
        assert found_s % period_s == 0
        assert all((place - places[0]) * period_s % found_s == 0 for place in places)


def test_monitoring_is_shown_by_the_distance_of_points() -> None:
    minutes = [minute * 60 * NS for minute in range(2, 30)]
    assert monitoring(minutes, 60) == "detailed"
    assert monitoring(minutes[::5], 60) == "basic"  # at 2, 7, 12 ... minutes, too
    assert monitoring(minutes[:1], 60) is None
    assert monitoring(minutes[::5], 300) is None
