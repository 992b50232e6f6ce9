"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.words.units import ABSENT, count, instant, printable, ratio, seconds, share, si
from vmtrace.formats.quantities import plural


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (0, "0 B"),
        (999, "999 B"),
        (999.9, "1.00 kB"),
        (1234, "1.23 kB"),
        (1_234_567, "1.23 MB"),
        (123_456_789, "123 MB"),
        (99.96e9, "100 GB"),
        (2e15, "2000 TB"),
    ],
)
def test_sizes_have_three_digits_and_an_si_prefix(value: float | None, text: str) -> None:
    assert si(value, "B") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0 s"),
        (12e-9, "12 ns"),
        (0.0000345, "34.5 µs"),
        (0.0429, "42.9 ms"),
        (0.9999, "1.00 s"),
        (151.7, "152 s"),
        (4000, "1h06m"),
        (1500, "25m00s"),
        (200_000, "2d07h"),
        (-0.0429, "-42.9 ms"),
        (-4000, "-1h06m"),
        (-1500, "-25m00s"),
    ],
)
def test_durations_choose_their_unit(value: float | None, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0 %"),
        (1e-6, "<0.01 %"),
        (0.0012, "0.12 %"),
        (-0.2, "-20.0 %"),
        (0.5, "50.0 %"),
        (0.9999, ">99.9 %"),
        (1, "100 %"),
    ],
)
def test_a_small_share_is_never_shown_as_none_and_a_large_one_never_as_all(value: float | None, text: str) -> None:
    assert share(value) == text


def test_instants_are_in_utc_and_wild_ones_are_still_shown() -> None:
    assert instant(1_700_000_000_123_456_789) == "2023-11-14 22:13:20.123 UTC"
    assert instant(None) == "-"
    assert instant(2**63 - 1) == "2262-04-11 23:47:16.854 UTC"
    assert instant(-(2**63)) == "1677-09-21 00:12:43.145 UTC"


def test_counts_are_grouped() -> None:
    assert (count(15_712), count(None), plural(1, "packet"), plural(2000, "packet")) == (
        "15,712",
        "-",
        "1 packet",
        "2,000 packets",
    )


@given(st.text())
def test_nothing_that_steers_a_terminal_gets_through(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


def test_a_ratio_may_be_more_than_the_whole() -> None:
    assert [ratio(value) for value in (None, 0.0, 0.0512, 0.5, 6.92)] == [ABSENT, "0.00 %", "5.12 %", "50.0 %", "692 %"]
