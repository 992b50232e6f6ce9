"""The words of displays for eyes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.sender.shown import DROPPED, DROPPED_WORDS, FAILED, FINISHED
from vmtrace.sender.display.view import RunView
from vmtrace.sender.display.words import (
    expected_words,
    fetched_words,
    moving_words,
    opening_lines,
    pair_words,
    troubled,
)
from vmtrace.sender.live import Moving
from vmtrace.sender.plan import Plan


def test_words_for_what_was_fetched() -> None:
    assert fetched_words("complete", 3, 2048, None) == "the receiver's files are here: 3 files, 2 KiB"


def test_words_for_what_moves_leave_out_what_is_not_known() -> None:
    assert moving_words("I_0 pair 1 data", 100, Moving(50, None, None, None)) == ["I_0 pair 1 data 50 %"]
    assert moving_words("x", 0, Moving(0, 2e6, 0.013, 0.213)) == ["x 100 %", "2 Mbit/s", "loss 1.30 %", "RTT 213 ms"]


def test_words_for_a_pair_say_how_it_went() -> None:
    assert pair_words(FINISHED) == "I_0 pair 1: probe 1 KiB at 2 Mbit/s, data 1 KiB at 2 Mbit/s"
    assert pair_words(FAILED) == "I_0 pair 2: failed after 5 attempts: digests differ"


def test_packets_that_were_not_recorded_are_reported_with_their_pair() -> None:
    assert pair_words(DROPPED) == DROPPED_WORDS
    assert troubled(DROPPED)
    assert troubled(FAILED)
    assert not troubled(FINISHED)


def test_a_session_that_goes_on_says_after_which_pair(plan: Plan) -> None:
    view = RunView("run1", "a" * 32, plan, 2, 60.0, "there:5810 (host)", "packets are not recorded")
    assert opening_lines(view) == [
        "plan small: 3 pairs, to there:5810 (host), into run1",
        expected_words(plan),
        "going on after pair 2",
        "packets are not recorded",
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"repeat": None, "duration_s": 60.0}, "expected duration: 1 min 0 s, and the last pair"),
        (
            {"repeat": None, "duration_s": 10.0, "fill": True},
            "expected duration: 10 s of data transfers, and some seconds",
        ),
        ({"repeat": 1000}, "expected duration: at least 16 min 40 s at 10 Mbit/s"),
    ],
)
def test_the_expected_duration_is_said_before_a_run_starts(plan: Plan, changes: dict[str, Any], words: str) -> None:
    assert expected_words(dataclasses.replace(plan, **changes)).startswith(words)
