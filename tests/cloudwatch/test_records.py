"""Values of strangers are taken for what they are, and for nothing else."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.cloudwatch.records import (
    as_json,
    instant_ns,
    iso,
    moment,
    number,
    one_line,
    parse,
    record,
    records,
    text,
    whole,
)


@given(st.integers(0, 250_000_000_000 * 10**6))
def test_a_time_is_the_same_in_every_form(microseconds: int) -> None:
    time_ns = microseconds * 1000
    assert instant_ns(moment(time_ns)) == time_ns
    assert instant_ns(iso(time_ns)) == time_ns
    assert instant_ns(moment(time_ns).astimezone(timezone(timedelta(hours=5)))) == time_ns


@pytest.mark.parametrize("value", [None, True, "yesterday", "", [], {}, -1, 1e300, float("nan"), float("inf"), 10**400])
def test_what_is_no_time_is_none(value: object) -> None:
    assert instant_ns(value) is None


def test_times_as_the_cli_and_the_wire_have_them() -> None:
    assert instant_ns("2026-11-21T14:05:00+00:00") == instant_ns("2026-11-21T14:05:00Z") == 1_795_269_900 * 10**9
    assert instant_ns(1_795_269_900) == instant_ns(1_795_269_900.0) == 1_795_269_900 * 10**9
    assert instant_ns(datetime(2026, 11, 21, 14, 5)) == 1_795_269_900 * 10**9  # noqa: DTZ001 - a server may send it so


def test_a_number_is_finite_and_no_truth_value() -> None:
    assert number(3) == 3.0
    for value in (True, "3", None, float("nan"), 10**400):
        assert number(value) is None
    assert whole(3) == 3
    assert whole(True) is None


def test_objects_lists_and_texts_are_taken_or_empty() -> None:
    assert record([1]) == {}
    assert records({"a": 1}) == []
    assert records([1, {"a": 1}, None]) == [{"a": 1}]
    assert text("  a\n b ") == "a b"
    assert text(" ") is None
    assert text(3) is None


def test_what_is_no_json_is_one_line_with_the_name() -> None:
    for content in (b"{", b"\xff\xfe\x00", b"[" * 100_000):
        with pytest.raises(ValueError, match=r"^answer\.json: not JSON: .+$"):
            parse(content, "answer.json")


def test_times_in_json_are_iso_and_anything_else_its_text() -> None:
    assert json.dumps([datetime(2026, 1, 1, tzinfo=UTC), b"x"], default=as_json) == '["2026-01-01T00:00:00Z", "b\'x\'"]'


@given(st.text(max_size=2000))
def test_a_stranger_s_words_are_one_printable_line(words: str) -> None:
    line = one_line(words)
    assert line.isprintable()
    assert len(line) <= 300
