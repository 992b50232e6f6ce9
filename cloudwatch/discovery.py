"""Which metrics the CloudWatch agent publishes of an instance: its configuration decides on names and dimensions."""

from collections.abc import Callable

from vmtrace.cloudwatch.answers import Metric, metric_of
from vmtrace.cloudwatch.catalog import agent_kind
from vmtrace.cloudwatch.records import Record, records, text

Ask = Callable[[str, Record], Record]
"""Sends a request to an operation and returns the answer."""

LISTED_FOR_DAYS = 14
"""A metric without new points for so long is not listed any more."""

_MOST_PAGES = 200
_MOST_METRICS = 5000
"""Of one instance; an agent with everything switched on publishes some hundred."""


def agent_metrics(ask: Ask, namespace: str, instance_id: str, host: str | None, problems: list[str]) -> list[Metric]:
    """The agent's metrics that say something about transfers. An agent that names no instance names the host."""
    found = _listed(ask, namespace, "InstanceId", instance_id, problems)
    if not found and host:
        found = _listed(ask, namespace, "host", host, problems)
    return sorted(found, key=lambda metric: (metric.name, metric.dimensions))


def _listed(ask: Ask, namespace: str, name: str, value: str, problems: list[str]) -> set[Metric]:
    found, tokens = set[Metric](), set[str]()
    request: Record = {"Namespace": namespace, "Dimensions": [{"Name": name, "Value": value}]}
    for _ in range(_MOST_PAGES):
        answer = ask("list_metrics", request)
        metrics = (metric_of(one) for one in records(answer.get("Metrics")))
        found |= {
            metric
            for metric in metrics
            if metric
            and metric.namespace == namespace
            and (name, value) in metric.dimensions
            and agent_kind(metric.name)
        }
        token = text(answer.get("NextToken"))
        if token is None:
            return found
        if token in tokens or len(found) > _MOST_METRICS:
            break
        tokens.add(token)
        request = request | {"NextToken": token}
    problems.append(f"ListMetrics of {namespace}: pages without an end: {len(found):,} metrics were taken")
    return set(sorted(found, key=lambda metric: (metric.name, metric.dimensions))[:_MOST_METRICS])
