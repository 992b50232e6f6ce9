"""Causes on pages: names, colours, and the bar."""

from vmtrace.analyze.pages.causes import COLOURS, NOT_JUDGED, UNDECIDED, cause_shares
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.palette import FACTORS


def test_a_factor_has_one_colour_and_words_of_the_field() -> None:
    assert all(COLOURS[factor] == look.colour for factor, look in FACTORS.items())
    assert factor_name("setup") == "handshake"
    assert factor_name("bottleneck_bandwidth") == "bottleneck bandwidth"


def test_the_largest_amount_comes_first_and_parts_are_one_whole() -> None:
    amounts = {NOT_JUDGED: 1.0, "slow_start": 5.0, UNDECIDED: 2.0}
    bar = cause_shares("bytes", amounts, lambda cause: f", {amounts[cause]:g} B")
    assert [part.name for part in bar.parts] == ["slow start", "undecided", "not judged"]
    assert sum(part.share for part in bar.parts) == 1
    assert bar.parts[0].text == "62.5 %, 5 B"
    assert bar.parts[0].colour == COLOURS["slow_start"]


def test_nothing_has_no_shares() -> None:
    assert [part.share for part in cause_shares("bytes", {"idle": 0.0}, lambda _: "").parts] == [0.0]
