"""GetMetricData is followed to its end: pages, parts, throttling; and left where there is no end."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cloudwatch.made import NS, error, result
from vmtrace.cloudwatch.answers import Metric, Query, answer_of
from vmtrace.cloudwatch.backoff import Backoff
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.metric_data import Fetch
from vmtrace.cloudwatch.periods import Range
from vmtrace.cloudwatch.service import Account, open_service

START_S = 1_790_000_100
SPAN = Range(START_S * NS, (START_S + 600) * NS)
CPU = Query("q0", Metric("AWS/EC2", "CPUUtilization", (("InstanceId", "i-0"),)), "Average", 60)
NETWORK = Query("q1", Metric("AWS/EC2", "NetworkIn", (("InstanceId", "i-0"),)), "Sum", 60)
NO_WAIT = Backoff(sleep=lambda _: None)


def fetch(scripted: Any, *queries: Query) -> tuple[dict[str, list[float]], list[str]]:
    """Values by metric, and the problems."""
    service = open_service(Account(region="eu-west-1", endpoint_url=scripted.url))
    one = Fetch(service.ask, SPAN, NO_WAIT)
    one.run(queries or (CPU,))
    series = answer_of(service.exchanges, Counter()).series
    return {found.metric.name: [sample.value for sample in found.samples] for found in series}, one.problems


def page(*results: dict[str, Any], token: str | None = None, **more: Any) -> tuple[int, Any]:
    return 200, {"MetricDataResults": list(results)} | ({"NextToken": token} if token else {}) | more


def test_pages_are_followed_until_there_is_no_token(scripted: Any) -> None:
    scripted.answers = [
        page(result("q0", {START_S: 1.0, START_S + 60: 2.0}, "PartialData"), token="a"),
        page(result("q0", {START_S + 120: 3.0}), result("q1", {START_S: 7.0}, "PartialData"), token="b"),
        page(result("q1", {START_S + 60: 8.0})),
    ]
    assert fetch(scripted, CPU, NETWORK) == ({"CPUUtilization": [1, 2, 3], "NetworkIn": [7, 8]}, [])
    assert [request.get("NextToken") for _, request in scripted.asked] == [None, "a", "b"]
    first = scripted.asked[0][1]
    assert (first["StartTime"], first["EndTime"]) == (START_S, START_S + 600)


def test_a_part_without_a_token_is_asked_for_from_its_last_point_on(scripted: Any) -> None:
    scripted.answers = [
        page(result("q0", {START_S: 1.0, START_S + 60: 2.0}, "PartialData"), result("q1", {START_S: 7.0})),
        page(result("q0", {START_S + 120: 3.0})),
    ]
    assert fetch(scripted, CPU, NETWORK) == ({"CPUUtilization": [1, 2, 3], "NetworkIn": [7]}, [])
    again = scripted.asked[1][1]
    assert (again["StartTime"], again["EndTime"]) == (START_S + 120, START_S + 600)
    assert [query["Id"] for query in again["MetricDataQueries"]] == ["q0"]


def test_an_internal_error_of_one_metric_is_asked_for_again(scripted: Any) -> None:
    scripted.answers = [page(result("q0", {}, "InternalError")), page(result("q0", {START_S: 1.0}))]
    assert fetch(scripted) == ({"CPUUtilization": [1]}, [])


def test_what_stays_partial_is_reported(scripted: Any) -> None:
    scripted.answers = [page(result("q0", {START_S: 1.0}, "PartialData"))]
    values, problems = fetch(scripted)
    assert values == {"CPUUtilization": [1]}
    assert problems == ["GetMetricData: CPUUtilization came in part only: try again later"]
    assert 1 < len(scripted.asked) < 10


def test_forbidden_and_unanswered_metrics_are_reported(scripted: Any) -> None:
    scripted.answers = [
        page(result("q0", {}, "Forbidden"), Messages=[{"Code": "MaxMetricsExceeded", "Value": "too many"}])
    ]
    values, problems = fetch(scripted, CPU, NETWORK)
    assert values == {}
    assert "CPUUtilization are not for these credentials (Forbidden)" in problems[0]
    assert "NetworkIn were not answered" in problems[1]
    assert problems[2] == "CloudWatch says: MaxMetricsExceeded: too many"


@pytest.mark.parametrize("code", ["Throttling", "ThrottlingException", "RequestLimitExceeded", "InternalServiceFault"])
def test_throttling_is_waited_out(scripted: Any, code: str) -> None:
    scripted.answers = [error(code, "Rate exceeded")] * 3 + [page(result("q0", {START_S: 1.0}))]
    assert fetch(scripted) == ({"CPUUtilization": [1]}, [])
    assert len(scripted.asked) == 4


def test_throttling_without_an_end_is_one_line(scripted: Any) -> None:
    scripted.answers = [error("Throttling", "Rate exceeded")]
    with pytest.raises(
        CloudWatchError, match=r"^CloudWatch GetMetricData in eu-west-1: the service is busy and stayed so"
    ):
        fetch(scripted)
    assert len(scripted.asked) == 9


def test_tokens_without_an_end_are_left(scripted: Any) -> None:
    scripted.decide = lambda *_: page(result("q0", {START_S: 1.0}), token=f"t{len(scripted.asked)}")
    values, problems = fetch(scripted)
    assert values == {"CPUUtilization": [1]}
    assert problems == ["GetMetricData: pages without an end: left after 1 points"]
    assert len(scripted.asked) < 60


def test_a_token_that_comes_again_is_left(scripted: Any) -> None:
    scripted.answers = [page(result("q0", {START_S: 1.0}), token="same")]
    _, problems = fetch(scripted)
    assert problems == ["GetMetricData: pages without an end: left after 1 points"]
    assert len(scripted.asked) == 2


def test_far_more_points_than_were_asked_for_are_not_taken(scripted: Any) -> None:
    flood = {START_S + 60 * place: 1.0 for place in range(120_000)}
    scripted.decide = lambda *_: page(result("q0", flood), token=f"t{len(scripted.asked)}")
    values, problems = fetch(scripted)
    assert values == {"CPUUtilization": [1.0] * 10}
    assert problems == ["GetMetricData: pages without an end: left after 10 points"]
    assert len(scripted.asked) == 1


HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"\xff\xfe garbage",
    b"<html><body>502</body></html>",
    b'{"MetricDataResults":',
    b'{"MetricDataResults": 3}',
    b'{"MetricDataResults": [3, null, []]}',
    b'{"MetricDataResults": {"q0": 1}}',
    b'{"MetricDataResults": [{"Id": 7, "Timestamps": [1], "Values": [1]}]}',
    b'{"MetricDataResults": [{"Id": "q0", "Timestamps": "now", "Values": [1]}]}',
    b'{"MetricDataResults": [{"Id": "q0", "Timestamps": [1790000100], "Values": ["x"]}]}',
    b'{"MetricDataResults": [{"Id": "q0", "Timestamps": [1790000100, 1e300, "x", null], "Values": [1, 2, 3, 4]}]}',
    b'{"MetricDataResults": [{"Id": "q0", "Timestamps": [1790000100], "Values": [NaN]}]}',
    b'{"MetricDataResults": [{"Id": "q0", "Timestamps": [1790000100], "Values": []}], "NextToken": {"a": 1}}',
    b'{"MetricDataResults": [{"Id": "zz", "Timestamps": [1790000100], "Values": [1]}], "Messages": "none"}',
]


@pytest.mark.parametrize("content", HOSTILE)
def test_a_hostile_answer_gives_no_number_and_at_most_one_line(scripted: Any, content: bytes) -> None:
    scripted.answers = [(200, content)]
    line = "CloudWatch GetMetricData in eu-west-1: "
    try:
        values, _ = fetch(scripted)
    except CloudWatchError as problem:
        line, values = str(problem), {}
    assert line.startswith("CloudWatch GetMetricData in eu-west-1: ")
    assert "\n" not in line
    assert [value for found in values.values() for value in found] in ([], [1.0])


@given(st.data())
def test_whatever_the_pages_are_every_point_comes_once(data: Any) -> None:
    """A service that cuts its answer at any place, by pages or by parts, gives the same points in the end."""
    points = {START_S + 60 * place: float(place) for place in range(10)}
    shown = Counter[float]()

    def ask(_: str, request: dict[str, Any]) -> dict[str, Any]:
        first = int(request["StartTime"].timestamp()) if "NextToken" not in request else int(request["NextToken"])
        due = {start: value for start, value in points.items() if start >= first}
        length = data.draw(st.integers(1, 10))
        given_ = dict(list(due.items())[:length])
        shown.update(given_.values())
        if len(given_) == len(due):
            return {"MetricDataResults": [result("q0", given_)]}
        part = result("q0", given_, "PartialData")
        if data.draw(st.booleans()):
            return {"MetricDataResults": [part]}
        return {"MetricDataResults": [part], "NextToken": str(list(due)[length])}

    one = Fetch(ask, SPAN, NO_WAIT)
    one.run([CPU])
    if not one.problems:
        assert shown == Counter(points.values())
        assert one.points == 10
    else:
        assert one.problems == ["GetMetricData: CPUUtilization came in part only: try again later"]
