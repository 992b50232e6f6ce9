"""Threshold expressions: what they mean, and that nothing else gets through."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.findings.fail_if import Crossing, ExpressionError, bind, parse

COLUMNS = (
    "duration_s",
    "client_to_server_loss_loss_rate",
    "server_to_client_loss_loss_rate",
    "client_to_server_goodput_bps",
    "server_to_client_goodput_bps",
)


def holds(text: str, **values: float | None) -> bool:
    return parse(text).holds(values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a>1", True),
        ("a>2", False),
        ("a>=2", True),
        ("a<3", True),
        ("a<=1.9", False),
        ("a==2", True),
        ("a!=2", False),
        ("a>1 and b<0", True),
        ("a>2 and b<0", False),
        ("a>2 or b<0", True),
        ("a>2 or a>3 or b==-1", True),
        ("a>1 or a>1 and b>0", True),
        ("(a>1 or a>1) and b>0", False),
        (" a > 1e0 ", True),
        ("a>.5", True),
    ],
)
def test_an_expression_means_what_it_says(text: str, expected: bool) -> None:
    assert holds(text, a=2.0, b=-1.0) is expected


def test_what_was_not_measured_crosses_nothing() -> None:
    assert not holds("a<1", a=None)
    assert not holds("a!=1", a=None)
    assert holds("a<1 or b>0", a=None, b=1.0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "expected a metric at character 1"),
        ("a", "expected one of"),
        ("a>", "expected a number"),
        ("a>b", "expected a number"),
        ("a>1 b>2", "expected 'and', 'or' or the end"),
        ("a>1 and", "expected a metric"),
        ("(a>1", "expected '\\)'"),
        ("and>1", "expected a metric"),
        ("__import__('os')", "expected one of"),
        ("(" * 1000 + "a>1", "too many brackets"),
    ],
)
def test_what_is_no_expression_is_reported(text: str, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        parse(text)


@given(st.text(alphabet="ab<>=!() 01.e-andor", max_size=40))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        assert parse(text).metrics()


def test_terms_of_one_expression_are_about_the_same_direction() -> None:
    condition = bind(parse("loss_rate>0.1 and goodput_bps<100"), COLUMNS)
    columns = {
        "client_to_server_loss_loss_rate": [0.5, 0.5],
        "server_to_client_loss_loss_rate": [0.0, 0.0],
        "client_to_server_goodput_bps": [1e6, 10.0],
        "server_to_client_goodput_bps": [10.0, 1e6],
    }
    assert list(condition.crossings(columns)) == [
        Crossing(1, "client_to_server", {"loss_rate": 0.5, "goodput_bps": 10.0})
    ]


def test_what_stands_for_a_direction_may_be_another_word() -> None:
    columns = ("probe_rate", "data_rate", "changes")
    condition = bind(parse("rate<1"), columns, ("probe", "data"))
    assert list(condition.crossings({"probe_rate": [2.0], "data_rate": [0.5]})) == [Crossing(0, "data", {"rate": 0.5})]
    with pytest.raises(ExpressionError, match="did you mean rate"):
        bind(parse("rat<1"), columns, ("probe", "data"))


def test_a_metric_of_the_whole_connection_has_no_direction() -> None:
    condition = bind(parse("duration_s>1"), COLUMNS)
    assert list(condition.crossings({"duration_s": [0.5, None, 2.0]})) == [Crossing(2, None, {"duration_s": 2.0})]


def test_an_unknown_metric_is_reported_with_those_that_are_near() -> None:
    with pytest.raises(ExpressionError, match="no metric 'los_rate'; did you mean loss_rate"):
        bind(parse("los_rate>1"), COLUMNS)


def test_a_text_is_compared_with_no_number() -> None:
    columns = ("client", "client_to_server_rule", "server_to_client_rule", "duration_s")
    texts = ("client", "client_to_server_rule", "server_to_client_rule")
    for metric in ("client", "rule", "client_to_server_rule"):
        with pytest.raises(ExpressionError, match=f"'{metric}' is text"):
            bind(parse(f"{metric}>1 or duration_s>1"), columns, texts=texts)


OUTCOMES = (*COLUMNS, "outcome_kind")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("outcome", [1, 2]),
        ("outcome=syn_refused", [2]),
        ("outcome == syn_refused", [2]),
        ("outcome!=syn_refused", [1]),
        ("outcome and duration_s>5", [1]),
        ("outcome=peer_silent or duration_s<2", [0]),
    ],
)
def test_outcomes_are_asked_for_by_kind(text: str, rows: list[int]) -> None:
    condition = bind(parse(text), OUTCOMES, texts=("outcome_kind",))
    table: dict[str, list[float | str | None]] = {
        "outcome_kind": [None, "syn_unanswered", "syn_refused"],
        "duration_s": [1.0, 9.0, 3.0],
    }
    found = [crossing.row for crossing in condition.crossings({name: table[name] for name in condition.columns()})]
    assert found == rows


@pytest.mark.parametrize("text", ["outcome=", "outcome=syn", "outcome>1", "outcome=syn_refused=", "loss_rate=1"])
def test_a_kind_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_a_kind_that_is_misspelt_is_corrected() -> None:
    with pytest.raises(ExpressionError, match="syn_refused"):
        parse("outcome=syn_refusd")
