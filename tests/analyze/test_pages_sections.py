"""Tables of texts as sections: short ones in sight, long ones behind a fold, sentences that wrap."""

from vmtrace.analyze.pages.blocks import Fold
from vmtrace.analyze.pages.sections import further_figures, open_section, section, summary_of
from vmtrace.analyze.tables.table import Table, of_texts
from vmtrace.analyze.tables.table import Table as Shown


def table(rows: int, name: str = "calls") -> Table:
    sentence = "nothing but the set rate: 10 of 10 messages a second"
    return of_texts(name, "Calls", ("run", "stage", "n", "why"), tuple(("r", "1", "2", sentence) for _ in range(rows)))


def test_a_long_table_is_behind_a_fold_with_its_number_of_rows() -> None:
    (few,) = section(table(8)).blocks
    assert isinstance(few, Shown)
    (many,) = section(table(9)).blocks
    assert isinstance(many, Fold)
    assert many.summary == "9 rows"


def test_what_the_page_is_about_is_never_behind_a_fold() -> None:
    (shown,) = section(table(9, "throughput")).blocks
    assert isinstance(shown, Shown)
    (shown,) = open_section(table(9)).blocks
    assert isinstance(shown, Shown)


def test_names_and_sentences_begin_at_the_left_and_sentences_wrap() -> None:
    (shown,) = section(table(1)).blocks
    assert isinstance(shown, Shown)
    assert [(column.left, column.wraps) for column in shown.columns] == [
        (True, False), (True, False), (False, False), (True, True),
    ]  # fmt: skip


def test_without_further_figures_and_facts_there_are_no_sections() -> None:
    assert further_figures(()) == ()
    assert summary_of("", (), ()) == ()
