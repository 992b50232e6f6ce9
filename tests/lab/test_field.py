"""Kinds of the field are drawn by a seed, and judged at every place."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmtrace.lab.accuracy import field
from vmtrace.lab.accuracy.field import Measured, measure, sections
from vmtrace.lab.accuracy.field_runs import draw


def test_a_seed_draws_the_same_transfers_again_and_another_seed_others() -> None:
    assert [(one.name, one.crossed) for one in draw(7, 2)] == [(one.name, one.crossed) for one in draw(7, 2)]
    assert [one.crossed for one in draw(7, 2)] != [one.crossed for one in draw(8, 2)]
    assert [one.name for one in draw(7, 1)] == [one.name for one in draw(7, 2) if one.name.endswith("-0")]


def test_a_kind_alone_is_the_same_as_among_all() -> None:
    assert draw(7, 1)[3].crossed == draw(7, 3)[9].crossed


def test_every_transfer_has_a_limit_that_is_known() -> None:
    drawn = draw(3, 2)
    assert all(one.factors for one in drawn)
    assert len({one.name for one in drawn}) == len(drawn) >= 20


def test_a_lost_syn_is_judged_where_it_was_seen() -> None:
    places = {one.places for one in draw(3, 12) if one.name.startswith("first_syn_lost")}
    assert places == {("sender",), field.PLACES}


def test_what_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = measure(draw(1, 1)[:1], tmp_path, 1, no_runs=True)
    assert measured.refused == ["window_filled_by_the_path-0 (not made)"]
    assert "window_filled_by_the_path-0 (not made)" in capsys.readouterr().out
    assert sections(measured)[-1] == "Not judged: window_filled_by_the_path-0 (not made)."


def test_results_are_counted_by_kind_and_place() -> None:
    measured = Measured(transfers=2)
    for place in field.PLACES:
        measured.results["quota", place, "right"] += 1
        measured.results["quota", place, "wrong" if place == "receiver" else "open"] += 1
    counted = "In all: sender 1 of 2 right, 1 open; middle 1 of 2 right, 1 open; receiver 1 of 2 right, 0 open"
    measured.wrong.append("quota-1 at the receiver: idle 0.90")
    assert sections(measured) == [
        "| kind | sender | middle | receiver |",
        "|---|---|---|---|",
        "| quota | 1 right, 1 open | 1 right, 1 open | 1 right, **1 wrong** |",
        "",
        f"{counted}. Wrong: quota-1 at the receiver: idle 0.90.",
    ]
