"""Queries are in no request more than the service takes, and none is lost."""

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.cloudwatch.answers import Metric, Query
from vmtrace.cloudwatch.catalog import EC2_METRICS
from vmtrace.cloudwatch.queries import MOST_POINTS, MOST_QUERIES, batches, ec2_metrics, queries_for


@given(st.integers(1, 2000), st.integers(60, 455 * 86_400), st.sampled_from([1, 60, 300]))
def test_no_batch_is_too_large_and_no_query_is_lost(number: int, length_s: int, period_s: int) -> None:
    queries = [Query(f"q{place}", Metric("N", f"m{place}"), "Sum", period_s) for place in range(number)]
    found = list(batches(queries, length_s))
    assert [query for batch in found for query in batch] == queries
    for batch in found:
        assert 1 <= len(batch) <= MOST_QUERIES
        assert len(batch) == 1 or sum(length_s // query.period_s for query in batch) <= MOST_POINTS


def test_each_metric_is_asked_for_in_no_period_that_it_has_not() -> None:
    queries = queries_for(ec2_metrics("i-0123456789abcdef0"), 60)
    assert {query.metric.name for query in queries} == set(EC2_METRICS)
    assert all(query.period_s >= EC2_METRICS[query.metric.name].finest_s for query in queries)
    assert len({query.id for query in queries}) == len(queries)
    assert all(query.period_s == 3600 for query in queries_for(ec2_metrics("i-0123456789abcdef0"), 3600))


def test_a_metric_that_says_nothing_is_not_asked_for() -> None:
    assert queries_for([Metric("CWAgent", "mem_used_percent")], 60) == []
