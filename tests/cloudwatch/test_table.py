"""The table: one row for each point, whatever is in the names, and the later of two fetches counts."""

import csv

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.cloudwatch.answers import Metric, Series
from vmtrace.cloudwatch.counters import Sample
from vmtrace.cloudwatch.table import COLUMNS, dimensions_text, merged, table_text

NS = 10**9
PROVENANCE = {"vmtrace": "1", "command": "x", "instance_id": None, "region": "r"}
NAMES = st.text(min_size=1, max_size=20)


def series(metric: Metric, *values: float, first_s: int = 0, asked_ns: int | None = 10**18) -> Series:
    samples = tuple(Sample((first_s + 60 * place) * NS, value) for place, value in enumerate(values))
    return Series(metric, "Maximum", 60, None, samples, asked_ns)


@given(NAMES, st.lists(st.tuples(NAMES, NAMES), max_size=3), NAMES)
def test_no_name_breaks_the_table(name: str, dimensions: list[tuple[str, str]], statistic: str) -> None:
    one = Series(Metric("N", name, tuple(dimensions)), statistic, 60, None, (Sample(0, 1.5), Sample(60 * NS, 2)), None)
    lines = table_text([one], PROVENANCE).split("\n")
    body = [line for line in lines if not line.startswith("# ") or line.count(",") == len(COLUMNS) - 1]
    assert lines[-1] == ""
    assert [line.split(",") for line in lines[-3:-1]] == list(csv.reader(lines[-3:-1]))
    assert all(len(line.split(",")) == len(COLUMNS) for line in lines[-4:-1])
    assert body


def test_the_header_says_where_it_comes_from() -> None:
    lines = table_text([], PROVENANCE).splitlines()
    assert lines[0] == "# schema: vmtrace.cloudwatch_table/1"
    assert "# instance_id: null" in lines
    assert "# interval_s: null" in lines
    assert lines[-1] == ",".join(COLUMNS)


def test_the_later_of_two_fetches_counts() -> None:
    metric = Metric("AWS/EC2", "NetworkIn")
    early = series(metric, 1, 2, 3, asked_ns=200 * NS)
    late = series(metric, 30, 4, first_s=120, asked_ns=10**15)
    (one,) = merged([early, late])
    assert [row.value for row in one.rows] == [1, 2, 30, 4]
    assert [row.open for row in one.rows] == [False, True, False, False]


def test_periods_and_statistics_stay_apart() -> None:
    metric = Metric("AWS/EC2", "NetworkIn")
    other = Series(metric, "Sum", 300, None, (Sample(0, 1),), None)
    assert len(merged([series(metric, 1), other])) == 2


def test_what_is_cumulative_is_marked_with_what_it_counted() -> None:
    (counter,) = merged([series(Metric("CWAgent", "ethtool_x"), 5, 7, 7, 1, 2)])
    assert counter.cumulative is True
    assert [row.delta for row in counter.rows] == [None, 2, 0, None, 1]
    (level,) = merged([series(Metric("CWAgent", "netstat_tcp_established"), 1, 2, 3, 4, 5, 6, 7)])
    assert (level.cumulative, {row.delta for row in level.rows}) == (False, {None})
    (unknown,) = merged([series(Metric("Mine", "things"), 1, 2)])
    assert unknown.cumulative is None


def test_absent_is_an_empty_cell_and_whole_numbers_have_no_point() -> None:
    one = Series(Metric(None, "m", (("a", "b=c;d"),)), None, None, None, (Sample(5, 2.0),), None)
    assert table_text([one], PROVENANCE).splitlines()[-1] == "5,,m,,a=b%3Dc%3Bd,,2,,,,"
    assert dimensions_text((("a", "1"), ("b", "2"))) == "a=1;b=2"
