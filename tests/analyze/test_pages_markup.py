"""Tables as markup: what is shown is text, numbers carry their intervals, and cells their keys."""

import pytest

from analyze.pages.markup import Cell, estimate_text, index_name, number_text, sortable_table, table
from analyze.stats.estimates import Estimate


def test_texts_of_a_table_cannot_become_markup() -> None:
    made = table(("<b>",), [(["<i>"], False)]) + sortable_table([Cell("<b>")], [[Cell("<i>", left=True)]])
    assert "<b>" not in made
    assert made.count("&lt;i&gt;") == 2


def test_a_cell_is_sorted_by_its_number_and_an_absent_one_comes_last() -> None:
    made = sortable_table([Cell("rate")], [[Cell("1 k", 1000.0)], [Cell("-")], [Cell("name", left=True)]])
    assert 'data-key="1000.0"' in made
    assert 'data-key=""' in made
    assert made.count("data-key") == 2


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.12345, "0.123"), (1234.5, "1,234")])
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert number_text(value) == text


def test_an_estimate_shows_its_interval_if_it_has_one() -> None:
    assert estimate_text(Estimate(1.0, 0.5, 2.0, 9), 10) == "10 [5, 20]"
    assert estimate_text(Estimate(1.0, None, None, 3)) == "1"
    assert index_name(None) == "all"
