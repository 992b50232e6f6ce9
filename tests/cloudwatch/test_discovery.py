"""The agent's metrics are found by ListMetrics, whatever their further dimensions."""

from typing import Any

from vmtrace.cloudwatch.answers import Metric
from vmtrace.cloudwatch.discovery import agent_metrics

INSTANCE = "i-0123456789abcdef0"


def metric(name: str, namespace: str = "CWAgent", **dimensions: str) -> dict[str, Any]:
    named = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    return {"Namespace": namespace, "MetricName": name, "Dimensions": named}


def test_what_says_something_about_transfers_is_taken_from_all_pages() -> None:
    pages: dict[Any, dict[str, Any]] = {
        None: {"Metrics": [metric("cpu_usage_steal", InstanceId=INSTANCE, cpu="cpu0")], "NextToken": "a"},
        "a": {"Metrics": [metric("mem_used", InstanceId=INSTANCE), metric("net_drop_in", InstanceId=INSTANCE), 3]},
    }
    problems: list[str] = []
    found = agent_metrics(lambda _, request: pages[request.get("NextToken")], "CWAgent", INSTANCE, None, problems)
    assert found == [
        Metric("CWAgent", "cpu_usage_steal", (("InstanceId", INSTANCE), ("cpu", "cpu0"))),
        Metric("CWAgent", "net_drop_in", (("InstanceId", INSTANCE),)),
    ]
    assert problems == []


def test_an_agent_that_names_no_instance_is_found_by_its_host() -> None:
    def ask(_: str, request: dict[str, Any]) -> dict[str, Any]:
        (dimension,) = request["Dimensions"]
        return {"Metrics": [metric("cpu_usage_steal", host="ip-10-0-0-1")] if dimension["Name"] == "host" else []}

    assert len(agent_metrics(ask, "CWAgent", INSTANCE, "ip-10-0-0-1", [])) == 1
    assert agent_metrics(ask, "CWAgent", INSTANCE, None, []) == []


def test_metrics_of_others_are_not_taken_whatever_the_server_says() -> None:
    others = [
        metric("cpu_usage_steal", InstanceId="i-0"),
        metric("cpu_usage_steal", namespace="X", InstanceId=INSTANCE),
    ]
    assert agent_metrics(lambda *_: {"Metrics": others}, "CWAgent", INSTANCE, None, []) == []


def test_pages_without_an_end_are_left_and_told() -> None:
    asked: list[int] = []

    def endless(_: str, __: dict[str, Any]) -> dict[str, Any]:
        asked.append(1)
        return {"Metrics": [metric("net_drop_in", InstanceId=INSTANCE)], "NextToken": f"t{len(asked)}"}

    problems: list[str] = []
    assert len(agent_metrics(endless, "CWAgent", INSTANCE, None, problems)) == 1
    assert problems == ["ListMetrics of CWAgent: pages without an end: 1 metrics were taken"]
    assert len(asked) <= 200
