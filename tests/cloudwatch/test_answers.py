"""Answers become series by the queries that were asked; what fits none is counted and left out."""

from collections import Counter
from typing import Any

from tests.cloudwatch.made import NS, result
from vmtrace.cloudwatch.answers import Metric, Query, answer_of, metric_of, problems_of, queries_of, samples_of
from vmtrace.cloudwatch.periods import Range

START_S = 1_790_000_100
CPU = Query("q0", Metric("AWS/EC2", "CPUUtilization", (("InstanceId", "i-0"),)), "Average", 60)


def exchange(results: list[dict[str, Any]], *queries: Query) -> dict[str, Any]:
    request = {
        "MetricDataQueries": [query.as_record() for query in queries or (CPU,)],
        "StartTime": "2026-09-21T14:15:00Z",
        "EndTime": "2026-09-21T15:15:00Z",
    }
    return {"time_ns": 5, "request": request, "response": {"MetricDataResults": results}}


def test_a_query_comes_back_from_its_record() -> None:
    assert queries_of([CPU.as_record(), {"Id": "e", "Expression": "q0*2"}, 3]) == [CPU]


def test_pages_of_a_query_are_one_series_in_order_of_time() -> None:
    wrong = Counter[str]()
    pages = [exchange([result("q0", {START_S + 60: 2.0})]), exchange([result("q0", {START_S: 1.0})])]
    (series,) = answer_of(pages, wrong).series
    assert [(sample.start_ns, sample.value) for sample in series.samples] == [
        (START_S * NS, 1.0),
        ((START_S + 60) * NS, 2.0),
    ]
    assert (series.metric, series.period_s, series.unit, series.asked_ns) == (CPU.metric, 60, "Percent", 5)
    assert wrong.total() == 0


def test_basic_monitoring_makes_points_cover_five_minutes() -> None:
    points = {START_S + 300 * place: 1.0 for place in range(4)}
    answer = answer_of([exchange([result("q0", points)])], Counter())
    assert (answer.monitoring, answer.series[0].period_s) == ("basic", 300)


def test_one_metric_with_a_point_every_minute_makes_monitoring_detailed() -> None:
    disk = Query("q1", Metric("AWS/EC2", "DiskReadOps"), "Sum", 60)
    sparse = result("q1", {START_S + 300 * place: 1.0 for place in range(3)})
    dense = result("q0", {START_S + 60 * place: 1.0 for place in range(9)})
    answer = answer_of([exchange([sparse, dense], disk, CPU)], Counter())
    assert answer.monitoring == "detailed"
    assert {one.period_s for one in answer.series} == {60}


def test_points_of_the_agent_say_nothing_about_monitoring() -> None:
    steal = Query("q0", Metric("CWAgent", "cpu_usage_steal"), "Average", 60)
    points = {START_S + 300 * place: 1.0 for place in range(4)}
    answer = answer_of([exchange([result("q0", points)], steal)], Counter())
    assert (answer.monitoring, answer.series[0].period_s) == (None, 60)


def test_what_is_no_point_is_counted_and_left_out() -> None:
    wrong = Counter[str]()
    span = Range(START_S * NS, (START_S + 60) * NS)
    strange = {"Timestamps": [START_S, "x", START_S + 600, START_S], "Values": [1.0, 2.0, 3.0, float("nan"), 5.0]}
    assert samples_of(strange, span, wrong) == {START_S * NS: 1.0}
    assert samples_of({"Timestamps": 3, "Values": 4}, span, wrong) == {}
    assert answer_of([exchange([result("zz", {START_S: 1.0})])], wrong).series == ()
    assert problems_of(wrong, "the answer") == [
        "the answer: left out points outside of the time asked for (1)",
        "the answer: left out points that are not numbers (2)",
        "the answer: left out points without a value or a time (1)",
        "the answer: left out results that were not requested (1)",
        "the answer: left out results without points (1)",
    ]


def test_dimensions_are_in_the_order_of_their_names() -> None:
    dimensions = [{"Name": "b", "Value": "2"}, {"Name": "a", "Value": "1"}, {"Name": "", "Value": "x"}, 4]
    metric = metric_of({"Namespace": "N", "MetricName": "m", "Dimensions": dimensions})
    assert metric == Metric("N", "m", (("a", "1"), ("b", "2")))
    assert metric_of({"Namespace": "N"}) is None
