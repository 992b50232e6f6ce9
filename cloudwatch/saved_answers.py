"""Answers that somebody saved: what `aws cloudwatch get-metric-data` and `get-metric-statistics` print.

Neither repeats what was asked. Names and statistics of GetMetricData are those of the queries file, where one is given,
else what can be read from the labels; periods are the distances between the points.
"""

import re
from collections import Counter
from collections.abc import Iterator

from vmtrace.cloudwatch.answers import UNFINISHED, Dimensions, Metric, Query, Series, queries_of, samples_of
from vmtrace.cloudwatch.catalog import EC2, STATISTICS, kind_of, namespace_of
from vmtrace.cloudwatch.counters import Sample
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.periods import spacing_s
from vmtrace.cloudwatch.records import Record, instant_ns, number, record, records, text, whole

_INSTANCE = re.compile(r"\bi-[0-9a-f]{8,17}\b")
_PERCENTILE = re.compile(r"p\d{1,2}(\.\d+)?")


def is_answer(document: Record) -> bool:
    """Whether this can be an answer of the CLI."""
    return isinstance(document.get("MetricDataResults"), list) or isinstance(document.get("Datapoints"), list)


def series_of_import(fetch: Record, wrong: Counter[str]) -> list[Series]:
    """The series of an imported answer. When it was asked for is not in it: nobody knows which points were open."""
    answer, instance_id = record(fetch.get("answer")), text(fetch.get("instance_id"))
    period_s = whole(fetch.get("period_s"))
    if isinstance(answer.get("Datapoints"), list):
        found = _of_statistics(answer, instance_id, wrong)
    else:
        found = _of_metric_data(answer, queries_of(fetch.get("queries")), instance_id, wrong)
    return [
        Series(metric, statistic, own_s or spacing_s(list(points)) or period_s, unit, _samples(points), None)
        for metric, statistic, own_s, unit, points in found
        if points
    ]


def checked_queries(document: object) -> list[Record]:
    """The queries in a file as `--metric-data-queries` takes it; `CloudWatchError` for another."""
    found = record(document).get("MetricDataQueries") if isinstance(document, dict) else document
    if not queries_of(found):
        raise CloudWatchError("no queries of metrics in it: expected a list of {Id, MetricStat}")
    return records(found)


def unknown_names(fetch: Record) -> list[str]:
    """The labels of an imported answer that name no metric known here."""
    if text(fetch.get("kind")) != "imported":
        return []
    known = {query.id for query in queries_of(fetch.get("queries"))}
    results = records(record(fetch.get("answer")).get("MetricDataResults"))
    labels = [text(one.get("Label")) or "" for one in results if str(one.get("Id")) not in known]
    return [label for label in labels if kind_of(_name_in(label)) is None]


def is_part(fetch: Record) -> bool:
    """Whether an imported answer says itself that there is more: `--max-items` of the CLI, or a service in trouble."""
    answer = record(fetch.get("answer")) if text(fetch.get("kind")) == "imported" else {}
    unfinished = any(text(one.get("StatusCode")) in UNFINISHED for one in records(answer.get("MetricDataResults")))
    return unfinished or text(answer.get("NextToken")) is not None


_Found = tuple[Metric, str | None, int | None, str | None, dict[int, float]]


def _of_metric_data(
    answer: Record, queries: list[Query], instance_id: str | None, wrong: Counter[str]
) -> Iterator[_Found]:
    """Pages that were joined repeat an id: their points belong together."""
    by_id = {query.id: query for query in queries}
    points, labels = dict[str, dict[int, float]](), dict[str, str]()
    for number_, result in enumerate(records(answer.get("MetricDataResults"))):
        name = text(result.get("Id")) or f"#{number_}"
        points.setdefault(name, {}).update(samples_of(result, None, wrong))
        labels[name] = text(result.get("Label")) or name
    for name, found in points.items():
        query = by_id.get(name)
        if query is not None:
            kind = kind_of(query.metric.name)
            yield query.metric, query.statistic, _own_period_s(query, found), kind.unit if kind else None, found
        else:
            metric, statistic = _of_label(labels[name], instance_id)
            kind = kind_of(metric.name)
            yield metric, statistic, None, kind.unit if kind else None, found


def _own_period_s(query: Query, points: dict[int, float]) -> int:
    """The query's, but that of basic monitoring where the points are so far apart."""
    kind, apart_s = kind_of(query.metric.name), spacing_s(list(points))
    follows = query.metric.namespace == EC2 and kind is not None and kind.follows_monitoring
    return max(query.period_s, 300) if follows and apart_s and apart_s % 300 == 0 else query.period_s


def _of_label(label: str, instance_id: str | None) -> tuple[Metric, str | None]:
    name = _name_in(label)
    words = label.split()
    statistic = next((word for word in words if word in STATISTICS or _PERCENTILE.fullmatch(word)), None)
    kind = kind_of(name)
    if statistic is None and kind is not None and len(kind.statistics) == 1:
        statistic = kind.statistics[0]
    return Metric(namespace_of(name), name, _dimensions(label, name, instance_id)), statistic


def _name_in(label: str) -> str:
    return next((word for word in label.split() if kind_of(word) is not None), label)


def _dimensions(label: str, name: str, instance_id: str | None) -> Dimensions:
    named = _INSTANCE.search(label)
    instance = named.group() if named else instance_id
    return (("InstanceId", instance),) if instance and namespace_of(name) else ()


def _of_statistics(answer: Record, instance_id: str | None, wrong: Counter[str]) -> Iterator[_Found]:
    """A metric with all its statistics in each point."""
    label = text(answer.get("Label")) or ""
    metric, _ = _of_label(label, instance_id)
    points, units = dict[str, dict[int, float]](), set[str]()
    for point in records(answer.get("Datapoints")):
        start_ns = instant_ns(point.get("Timestamp"))
        values = {name: number(point.get(name)) for name in STATISTICS if name in point}
        values |= {name: number(value) for name, value in record(point.get("ExtendedStatistics")).items()}
        if start_ns is None or not values:
            wrong["points without a value or a time"] += 1
            continue
        wrong["points that are not numbers"] += sum(value is None for value in values.values())
        for name, value in values.items():
            if value is not None:
                points.setdefault(name, {})[start_ns] = value
        units |= {unit for unit in [text(point.get("Unit"))] if unit and unit != "None"}
    unit = units.pop() if len(units) == 1 else None
    for name, found in points.items():
        yield metric, name, None, unit, found


def _samples(points: dict[int, float]) -> tuple[Sample, ...]:
    return tuple(Sample(start_ns, points[start_ns]) for start_ns in sorted(points))
