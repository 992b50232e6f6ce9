"""A column is one declaration: its title, what it shows and how; rows of totals and those that links lead to."""

from vmtrace.analyze.tables.table import Cell, Column, of_texts, shown

COLUMNS: tuple[Column[tuple[str, float]], ...] = (
    Column("name", lambda one: one[0], left=True),
    Column("rate", lambda one: Cell(f"{one[1]:.0f} k", one[1])),
)


def test_a_column_says_what_it_shows_of_each_record() -> None:
    made = shown(COLUMNS, [("x", 1.0), ("all", 2.0)], total=lambda one: one[0] == "all", row_id=lambda one: one[0])
    assert made.head == ("name", "rate")
    assert [row.texts for row in made.rows] == [("x", "1 k"), ("all", "2 k")]
    assert [(row.total, row.id) for row in made.rows] == [(False, "x"), (True, "all")]
    assert made.rows[0].cells[1] == Cell("1 k", 1.0)


def test_of_a_table_of_texts_the_first_columns_begin_at_the_left() -> None:
    made = of_texts("t", "T", ("run", "stage", "n"), [("a", "b", "1")], hint="why")
    assert [column.left for column in made.columns] == [True, True, False]
    assert (made.rows[0].texts, made.hint) == (("a", "b", "1"), "why")
