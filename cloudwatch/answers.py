"""Answers of the service as series of points: GetMetricData's by the queries that were asked. Nothing is believed.

A result that fits no query, a point outside of what was asked for, a value that is no number: each is left out and
counted in a line.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from vmtrace.cloudwatch import periods
from vmtrace.cloudwatch.catalog import EC2, kind_of
from vmtrace.cloudwatch.counters import Sample
from vmtrace.cloudwatch.records import Record, instant_ns, number, record, records, text, whole

Dimensions = tuple[tuple[str, str], ...]
UNFINISHED = ("PartialData", "InternalError")
"""The `StatusCode` of a result of GetMetricData of which there is more to be had."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What CloudWatch calls a metric; the namespace is None where a saved answer does not tell it."""

    namespace: str | None
    name: str
    dimensions: Dimensions = ()


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one statistic of a metric, in order of time."""

    metric: Metric
    statistic: str | None
    period_s: int | None
    """How long a point covers; None where that cannot be told."""
    unit: str | None
    samples: tuple[Sample, ...]
    asked_ns: int | None
    """When the values were as they are here; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Query:
    """One statistic of a metric as it is asked for."""

    id: str
    metric: Metric
    statistic: str
    period_s: int

    def as_record(self) -> Record:
        """As GetMetricData takes it."""
        dimensions = [{"Name": name, "Value": value} for name, value in self.metric.dimensions]
        metric = {"Namespace": self.metric.namespace, "MetricName": self.metric.name, "Dimensions": dimensions}
        return {"Id": self.id, "MetricStat": {"Metric": metric, "Period": self.period_s, "Stat": self.statistic}}


def queries_of(value: object) -> list[Query]:
    """The queries in a request's MetricDataQueries; expressions, which have no metric, are left out."""
    found = []
    for one in records(value):
        stat = record(one.get("MetricStat"))
        metric = metric_of(stat.get("Metric"))
        id_, statistic, period_s = text(one.get("Id")), text(stat.get("Stat")), whole(stat.get("Period"))
        if metric and id_ and statistic and period_s and period_s > 0:
            found.append(Query(id_, metric, statistic, period_s))
    return found


def metric_of(value: object) -> Metric | None:
    """A metric as requests and ListMetrics have it; None for what is none."""
    found = record(value)
    name = text(found.get("MetricName"))
    return None if name is None else Metric(text(found.get("Namespace")), name, dimensions_of(found.get("Dimensions")))


def dimensions_of(value: object) -> Dimensions:
    """Dimensions in order of their names."""
    pairs = [(text(one.get("Name")), text(one.get("Value"))) for one in records(value)]
    return tuple(sorted((name, value) for name, value in pairs if name and value))


def samples_of(result: Record, span: periods.Range | None, wrong: Counter[str]) -> dict[int, float]:
    """The points of one result of GetMetricData by the start of their periods; what is none is counted in `wrong`."""
    times, values = result.get("Timestamps"), result.get("Values")
    if not isinstance(times, list) or not isinstance(values, list):
        wrong["results without points"] += (times, values) != (None, None)
        return {}
    wrong["points without a value or a time"] += abs(len(times) - len(values))
    samples = dict[int, float]()
    for time, value in zip(times, values, strict=False):
        start_ns, found = instant_ns(time), number(value)
        if start_ns is None or found is None:
            wrong["points that are not numbers"] += 1
        elif span and not span.start_ns <= start_ns < span.end_ns:
            wrong["points outside of the time asked for"] += 1
        else:
            samples[start_ns] = found
    return samples


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered to all requests of a fetch."""

    series: tuple[Series, ...]
    monitoring: str | None
    """`detailed` or `basic`, by the distances between points; None where they cannot tell."""


def answer_of(exchanges: Iterable[Record], wrong: Counter[str]) -> Answer:
    """The series of all GetMetricData requests and answers, in the order of their first queries."""
    queries = dict[Query, dict[int, float]]()
    asked_ns = dict[Query, int | None]()
    for exchange in exchanges:
        request, response = record(exchange.get("request")), record(exchange.get("response"))
        by_id = {query.id: query for query in queries_of(request.get("MetricDataQueries"))}
        span = _span(request)
        for result in records(response.get("MetricDataResults")):
            query = by_id.get(str(result.get("Id")))
            if query is None:
                wrong["results that were not requested"] += 1
                continue
            plain = replace(query, id="")  # its number in the batch says nothing
            queries.setdefault(plain, {}).update(samples_of(result, span, wrong))
            asked_ns[plain] = whole(exchange.get("time_ns"))
    monitoring = _monitoring(queries)
    basic = monitoring == "basic"
    series = [_series(query, samples, basic, asked_ns[query]) for query, samples in queries.items() if samples]
    return Answer(tuple(series), monitoring)


def problems_of(wrong: Counter[str], source: str) -> list[str]:
    """What was left out of a source, a line each."""
    return [f"{source}: left out {what} ({count:,})" for what, count in sorted(wrong.items()) if count]


def _series(query: Query, samples: dict[int, float], basic: bool, asked_ns: int | None) -> Series:
    kind = kind_of(query.metric.name)
    period_s = max(query.period_s, 300) if basic and _follows(query.metric) else query.period_s
    ordered = tuple(Sample(start_ns, samples[start_ns]) for start_ns in sorted(samples))
    return Series(query.metric, query.statistic, period_s, kind.unit if kind else None, ordered, asked_ns)


def _monitoring(points: dict[Query, dict[int, float]]) -> str | None:
    """By the distances between points; one metric with points every minute is enough."""
    shown = {
        periods.monitoring(list(samples), query.period_s) for query, samples in points.items() if _follows(query.metric)
    }
    return next((word for word in ("detailed", "basic") if word in shown), None)


def _follows(metric: Metric) -> bool:
    kind = kind_of(metric.name)
    return metric.namespace == EC2 and kind is not None and kind.follows_monitoring


def _span(request: Record) -> periods.Range | None:
    start_ns, end_ns = instant_ns(request.get("StartTime")), instant_ns(request.get("EndTime"))
    return periods.Range(start_ns, end_ns) if start_ns is not None and end_ns is not None else None
