"""Stretches of time together, against a count second by second."""

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.findings.spans import Covered, Span

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def seconds(spans: list[Span]) -> set[int]:
    return {second for start, end in spans for second in range(start, end)}


@given(SPANS, SPANS)
def test_what_is_covered_and_common_is_as_counted_one_by_one(spans: list[Span], others: list[Span]) -> None:
    assert Covered(spans).length == len(seconds(spans))
    inside = [span for span in spans if span[0] <= span[1]]
    assert Covered(others).common(inside) == sum(len(seconds([span]) & seconds(others)) for span in inside)
