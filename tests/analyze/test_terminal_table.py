"""Tables on terminals of any width: whole numbers, broken texts, and cards where not even that fits."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vmtrace.analyze.tables.table import Column, Row, Table, of_texts
from vmtrace.analyze.tables.terminal_table import fits, height, terminal_table

HEAD = ("run", "stage", "messages", "rate")
ROWS = (("first", "a stage with a long name", "1,000,000", "12.5"), ("first", "short", "7", ""))


def printed(table: Table, width: int, **more: Any) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, markup=False)
    console.print(terminal_table(table, width, **more))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_wide_terminal_shows_rows_side_by_side() -> None:
    lines = printed(of_texts("t", "T", HEAD, ROWS), 80)
    assert lines[0].split() == list(HEAD)
    assert lines[1] == "first  a stage with a long name  1,000,000  12.5"


def test_with_one_run_its_column_is_left_out() -> None:
    lines = printed(of_texts("t", "T", HEAD, ROWS), 80, several=False)
    assert lines[0].split() == ["stage", "messages", "rate"]


def test_texts_are_broken_and_numbers_are_whole() -> None:
    lines = printed(of_texts("t", "T", HEAD, ROWS), 36)
    assert max(map(len, lines)) <= 36
    assert any("1,000,000  12.5" in line for line in lines)


def test_on_a_narrow_terminal_a_row_is_a_card_and_what_is_empty_is_left_out() -> None:
    assert printed(of_texts("t", "T", HEAD, ROWS), 30) == [
        "first, a stage with a long",
        "name",
        "  messages: 1,000,000",
        "  rate: 12.5",
        "first, short",
        "  messages: 7",
    ]


def test_markup_in_a_cell_is_text() -> None:
    hostile = of_texts("t", "T", ("name", "n"), (("[red]x[/red]", "[/]"),), left=1)
    for width in (80, 12):
        assert "[red]x[/red]" in "".join(printed(hostile, width))


@given(
    st.lists(st.tuples(*(st.text("abc ", max_size=40) for _ in range(4))), max_size=5),
    st.integers(20, 120),
)
def test_no_line_is_longer_than_the_terminal(rows: list[tuple[str, ...]], width: int) -> None:
    lines = printed(of_texts("t", "T", HEAD, tuple(rows)), width)
    assert max(map(len, lines), default=0) <= width


@given(
    st.lists(st.tuples(*(st.text("abc 1,.", max_size=40) for _ in range(4))), max_size=5),
    st.sampled_from([60, 80, 100, 120]),
)
def test_no_word_and_no_number_is_broken_or_missing(rows: list[tuple[str, ...]], width: int) -> None:
    lines = printed(of_texts("t", "T", HEAD, tuple(rows)), width)
    there = {word.rstrip(",;") for line in lines for word in line.split()}
    assert {word.rstrip(",;") for row in rows for cell in row for word in cell.split()} <= there


def test_a_detail_is_left_out_of_a_narrow_table_and_is_in_a_card() -> None:
    columns: tuple[Column[Any], ...] = (Column("name", left=True), Column("rate"), Column("detail", least_width=100))
    table = Table(columns, (Row(("x" * 20, "12.5", "7.25")),))
    shown = {width: " ".join(printed(table, width)) for width in (20, 60, 120)}
    assert {width: "7.25" in text for width, text in shown.items()} == {20: True, 60: False, 120: True}
    assert "12.5" in shown[60]


@pytest.mark.parametrize("width", [20, 36, 60, 120])
def test_its_height_is_that_of_the_lines_printed(width: int) -> None:
    table = of_texts("t", "T", HEAD, [("first", "short", "1,000,000", "12.5"), ("other", "long", "7", "")])
    assert height(table, width) == len(printed(table, width))


@pytest.mark.parametrize("width", [40, 80, 160])
def test_what_fits_is_not_broken_into_cards(width: int) -> None:
    lines = printed(of_texts("t", "T", HEAD, ROWS), width)
    assert fits(of_texts("t", "T", HEAD, ROWS), width) == (lines[0].split()[0] == "run")
