"""Values of options: read whole, or refused with what is due."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.capture.options import above, whole


@given(st.integers(-5, 5))
def test_whole_numbers_within_bounds_are_read(number: int) -> None:
    assert whole(-5, 5)(str(number)) == number


@pytest.mark.parametrize("text", ["6", "-6", "", "1.0", "x", "1_0", " 1", "9" * 5000, "nan", "--1"])
def test_what_is_no_such_whole_number_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected a whole number from -5 to 5"):
        whole(-5, 5)(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "10.1", "", "x"])
def test_what_is_no_such_number_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected a number above 0, at most 10"):
        above(0, 10)(text)


def test_numbers_may_have_a_fraction_and_reach_the_most() -> None:
    assert [above(0, 10)(text) for text in ("0.5", "10", "1e1")] == [0.5, 10.0, 10.0]
