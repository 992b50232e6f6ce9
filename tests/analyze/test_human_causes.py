"""What limited connections, in words: names of the field, equal causes counted together."""

from typing import Any

import pytest

from tests.analyze.test_connection_order import Table
from vmtrace.analyze.human_causes import cause_lines, factor_name, why
from vmtrace.analyze.units import ABSENT


class Rows(Table):
    """With a row for the sentence of a connection."""

    def row(self, index: int) -> dict[str, Any]:
        return {name: values[index] for name, values in self._columns.items()}


def lines(
    causes: list[tuple[str | None, float]], shown: list[int] | None = None, sentences: list[str] | None = None
) -> list[str]:
    table = Rows(
        id=list(range(1, len(causes) + 1)),
        ledger_wire_bytes=list(range(len(causes), 0, -1)),
        verdict_factor=[factor for factor, _ in causes],
        verdict_confidence=[confidence for _, confidence in causes],
        verdict_sentence=sentences or [f"It was {factor}." for factor, _ in causes],
    )
    return list(cause_lines(table, shown or []))  # type: ignore[arg-type]


def test_equal_causes_are_one_line_with_the_sentence_of_the_largest() -> None:
    said = lines([("bottleneck_bandwidth", 0.9)] * 31 + [(None, 0.0)] * 12)
    assert said == [
        "31 of 43: bottleneck bandwidth. Connection 1: It was bottleneck_bandwidth. Confidence 90.0 %.",
        "others: 12 without a verdict",
    ]


def test_the_cause_of_most_bytes_comes_first_and_small_ones_are_counted() -> None:
    factors = ["setup", "application", "idle", "timeout_wait", "slow_start", "slow_start"]
    said = lines([(factor, 0.9) for factor in factors])
    assert [line.split(".")[0] for line in said] == [
        "1 of 6: handshake",
        "1 of 6: application",
        "1 of 6: idle",
        "2 of 6: slow start" if "slow start" in said[3] else "1 of 6: timeouts",
        "others: 2 slow start" if "slow start" in said[4] else "others: 1 timeouts",
    ]


def test_a_verdict_without_confidence_is_undecided() -> None:
    assert lines([("setup", 0.5), ("setup", 0.9)])[0].startswith("1 of 2: undecided. Connection 1: ")


def test_an_undecided_line_says_so_once() -> None:
    said = lines([("setup", 0.5), ("setup", 0.9)], sentences=["Undecided: the handshake or idle.", ""])
    assert said[0].startswith("1 of 2: undecided. Connection 1: the handshake or idle. Confidence")


def test_one_connection_has_its_sentence() -> None:
    assert lines([("setup", 0.9)]) == ["1: It was setup. Confidence 90.0 %."]
    assert lines([(None, 0.0), (None, 0.0)]) == []


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Losses kept the congestion window small", "loss"),
        ("ECN congestion marks (3) kept", "ECN marks"),
        ("The congestion window grew slowly: x", "slow window growth"),
        (None, "congestion window"),
    ],
)
def test_what_kept_a_congestion_window_small_is_named(sentence: str | None, name: str) -> None:
    assert factor_name("congestion_window", sentence) == name


def test_narrow_columns_have_short_names() -> None:
    row = {"verdict_factor": "bottleneck_bandwidth", "verdict_confidence": 0.7}
    assert why(row) == "link full"
    assert why(row | {"verdict_confidence": 0.59}) == "link full?"
    assert why({"verdict_factor": None}) == ABSENT
