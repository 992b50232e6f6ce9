"""Predictions are scored against transfers with exactly the change they are about."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests import golden_texts
from vmtrace.lab.accuracy.what_ifs import Judged, Measured, line, sections, with_prediction

KNOWN = Judged("window-0", "window", 4e6, 8e6)


def verdict(
    change: str, goodput_bps: float | None, low_bps: float = 0.0, high_bps: float | None = None
) -> dict[str, Any]:
    ends = {"low_bps": low_bps, "high_bps": high_bps, "reason": None if goodput_bps else "not reproduced"}
    return {"factor": "receiver_window", "what_if": [{"change": change, "goodput_bps": goodput_bps} | ends]}


def judged(goodput_bps: float | None, low_bps: float = 0.0, high_bps: float | None = None) -> Judged:
    return with_prediction(KNOWN, verdict("twice", goodput_bps, low_bps, high_bps), "twice")


@pytest.mark.parametrize(
    ("middle_bps", "low_bps", "high_bps", "inside", "near", "far"),
    [
        (8e6, 7e6, 9e6, True, True, False),
        (8e6, 7e6, None, True, True, False),
        (6e6, 5e6, 7e6, False, True, False),
        (5e6, 4e6, 9e6, True, False, False),
        (3.9e6, 3e6, 9e6, True, False, True),
        (16.1e6, 15e6, 17e6, False, False, True),
    ],
)
def test_a_prediction_is_judged_by_interval_and_middle(
    middle_bps: float, low_bps: float, high_bps: float | None, inside: bool, near: bool, far: bool
) -> None:
    found = judged(middle_bps, low_bps, high_bps)
    assert (found.is_inside, found.is_near, found.is_far) == (inside, near, far)


def test_another_change_a_reason_and_no_verdict_are_no_predictions() -> None:
    other = with_prediction(KNOWN, verdict("no loss", 8e6), "twice")
    assert (other.middle_bps, other.reason) == (None, "receiver_window: no loss")
    assert judged(None).reason == "not reproduced"
    assert with_prediction(KNOWN, None, "twice").reason == "no verdict"


def test_the_tables_count_what_was_given_missed_and_wrong() -> None:
    measured = Measured()
    measured.judged["sender"] = [judged(8e6, 7e6, 9e6), judged(3e6, 2e6, 4e6), judged(None)]
    measured.refused = ["loss-1"]
    text = "\n".join(sections(measured))
    golden_texts.check("the-tables-count-what-was-given-missed-and-wrong", text)


def test_a_line_says_what_is_wrong_with_a_prediction() -> None:
    assert line(judged(3e6, 2e6, 4e6), "sender").endswith("predicted 3.00 (2.00 to 4.00) OUTSIDE FAR WRONG")
    assert "not predicted (not reproduced)" in line(judged(None), "sender")
    assert math.isclose(judged(4e6).ratio, 0.5)
