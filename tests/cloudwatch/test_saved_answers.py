"""What the AWS CLI printed is understood as far as it says what it is."""

from collections import Counter
from typing import Any

import pytest

from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.saved_answers import checked_queries, is_answer, series_of_import, unknown_names

INSTANCE = "i-0123456789abcdef0"
TIMES = ["2026-11-21T14:00:00+00:00", "2026-11-21T14:05:00+00:00", "2026-11-21T14:10:00+00:00"]
FIRST_NS = 1_795_269_600 * 10**9


def metric_data(label: str, id_: str = "m1", values: tuple[float, ...] = (1.0, 2.0, 3.0)) -> dict[str, Any]:
    result = {
        "Id": id_,
        "Label": label,
        "Timestamps": TIMES[: len(values)],
        "Values": list(values),
        "StatusCode": "Complete",
    }
    return {"MetricDataResults": [result], "Messages": []}


def imported(answer: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "imported", "answer": answer, "instance_id": INSTANCE, "queries": None, "period_s": None} | more


QUERIES = [
    {
        "Id": "m1",
        "MetricStat": {
            "Metric": {
                "Namespace": "CWAgent",
                "MetricName": "ethtool_bw_in_allowance_exceeded",
                "Dimensions": [{"Name": "InstanceId", "Value": "i-0aaaaaaaaaaaaaaaa"}],
            },
            "Period": 60,
            "Stat": "Maximum",
        },
    }
]


@pytest.mark.parametrize(
    ("label", "name", "statistic"),
    [
        ("CPUUtilization", "CPUUtilization", None),
        ("i-0123456789abcdef0 CPUUtilization Maximum", "CPUUtilization", "Maximum"),
        ("NetworkIn", "NetworkIn", "Sum"),
        ("CPUUtilization p99.9", "CPUUtilization", "p99.9"),
        ("my own name", "my own name", None),
    ],
)
def test_labels_name_metric_and_statistic(label: str, name: str, statistic: str | None) -> None:
    (series,) = series_of_import(imported(metric_data(label)), Counter())
    assert (series.metric.name, series.statistic, series.period_s) == (name, statistic, 300)
    assert series.samples[0].start_ns == FIRST_NS
    assert series.asked_ns is None
    known = name != "my own name"
    assert series.metric.dimensions == ((("InstanceId", INSTANCE),) if known else ())
    assert unknown_names(imported(metric_data(label))) == ([] if known else ["my own name"])


def test_queries_say_what_was_asked() -> None:
    (series,) = series_of_import(imported(metric_data("x"), queries=QUERIES), Counter())
    assert (series.metric.namespace, series.metric.name) == ("CWAgent", "ethtool_bw_in_allowance_exceeded")
    assert (series.statistic, series.period_s) == ("Maximum", 60)
    assert series.metric.dimensions == (("InstanceId", "i-0aaaaaaaaaaaaaaaa"),)
    assert unknown_names(imported(metric_data("x"), queries=QUERIES)) == []


def test_joined_pages_of_one_id_are_one_series() -> None:
    answer = metric_data("NetworkIn")
    later = {"Id": "m1", "Label": "NetworkIn", "Timestamps": ["2026-11-21T14:15:00Z"], "Values": [4]}
    answer["MetricDataResults"].append(later)
    (series,) = series_of_import(imported(answer), Counter())
    assert [sample.value for sample in series.samples] == [1, 2, 3, 4]


def test_statistics_of_a_point_are_series_of_their_own() -> None:
    points = [{"Timestamp": time, "Average": 1.5, "Maximum": 3, "Unit": "Percent"} for time in reversed(TIMES)]
    points[0]["ExtendedStatistics"] = {"p99": 2.5}
    found = series_of_import(imported({"Label": "CPUUtilization", "Datapoints": points}), Counter())
    assert {(one.statistic, one.unit, len(one.samples)) for one in found} == {
        ("Average", "Percent", 3),
        ("Maximum", "Percent", 3),
        ("p99", "Percent", 1),
    }
    assert [one.period_s for one in found if one.statistic == "Average"] == [300]
    assert found[0].samples[0].start_ns == FIRST_NS


def test_the_period_of_a_single_point_is_what_is_reported() -> None:
    assert series_of_import(imported(metric_data("NetworkIn", values=(1.0,))), Counter())[0].period_s is None
    assert series_of_import(imported(metric_data("NetworkIn", values=(1.0,)), period_s=60), Counter())[0].period_s == 60


@pytest.mark.parametrize(
    "answer",
    [
        {"MetricDataResults": [3, None, {"Id": 5}]},
        {"MetricDataResults": [{"Id": "a", "Timestamps": ["x", 5e300], "Values": [1, 2]}]},
        {"Datapoints": [{"Timestamp": "never", "Sum": 1}, {"Sum": 2}, 4, {"Timestamp": TIMES[0], "Sum": "x"}]},
        {"Label": 4, "Datapoints": [{"Timestamp": TIMES[0], "Sum": float("nan")}]},
    ],
)
def test_hostile_answers_give_no_series(answer: dict[str, Any]) -> None:
    assert is_answer(answer)
    assert series_of_import(imported(answer), Counter()) == []


def test_files_of_queries_are_a_list_or_a_whole_request() -> None:
    assert checked_queries(QUERIES) == checked_queries({"MetricDataQueries": QUERIES}) == QUERIES
    strange: list[object] = [{}, [], [{"Id": "a", "Expression": "b"}], 3, "x"]
    for wrong in strange:
        with pytest.raises(CloudWatchError, match="no queries of metrics in it"):
            checked_queries(wrong)
