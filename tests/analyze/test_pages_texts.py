"""Numbers of tables as text."""

import pytest

from vmtrace.analyze.pages.texts import estimate_text, index_name, number_text
from vmtrace.analyze.stats.estimates import Estimate


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.12345, "0.123"), (1234.5, "1,234")])
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert number_text(value) == text


def test_an_estimate_shows_its_interval_if_it_has_one() -> None:
    assert estimate_text(Estimate(1.0, 0.5, 2.0, 9), 10) == "10 [5, 20]"
    assert estimate_text(Estimate(1.0, None, None, 3)) == "1"
    assert index_name(None) == "all"
