"""Which queries a fetch asks, and how they are put into requests that the service takes."""

from collections.abc import Iterable, Iterator, Sequence

from vmtrace.cloudwatch.answers import Metric, Query
from vmtrace.cloudwatch.catalog import EC2, EC2_METRICS, kind_of

MOST_QUERIES = 500
MOST_POINTS = 100_800
"""Of one answer; what is more comes on further pages."""


def ec2_metrics(instance_id: str) -> list[Metric]:
    """The metrics that EC2 publishes of an instance, those included that this instance has not."""
    return [Metric(EC2, name, (("InstanceId", instance_id),)) for name in EC2_METRICS]


def queries_for(metrics: Iterable[Metric], period_s: int) -> list[Query]:
    """A query for each statistic of each metric, in the finest period that it has and that is a multiple of this."""
    found: list[Query] = []
    for metric in metrics:
        kind = kind_of(metric.name)
        for statistic in kind.statistics if kind else ():
            own_s = max(period_s, kind.finest_s) if kind else period_s
            found.append(Query(f"q{len(found)}", metric, statistic, own_s))
    return found


def batches(queries: Sequence[Query], length_s: int) -> Iterator[list[Query]]:
    """The queries in as few requests as are taken, each of about one page; one query may be of more."""
    batch, points = list[Query](), 0
    for query in queries:
        own = length_s // query.period_s
        if batch and (len(batch) == MOST_QUERIES or points + own > MOST_POINTS):
            yield batch
            batch, points = [], 0
        batch.append(query)
        points += own
    if batch:
        yield batch
