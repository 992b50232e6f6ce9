"""An answer is cut to one screen: heads of tables stay, the count is right, and a short answer is not touched."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vmtrace.commands.one_screen import MOST_LINES, on_one_screen, shortened

TABLES = st.lists(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=30), min_size=1, max_size=12)


def joined(tables: list[list[str]]) -> list[str]:
    return [line for place, table in enumerate(tables) for line in ([""] if place else []) + table]


@given(TABLES)
def test_no_answer_takes_more_than_the_screen_and_every_line_is_shown_or_counted(tables: list[list[str]]) -> None:
    lines = joined(tables)
    shown = shortened(lines)
    if len(lines) <= MOST_LINES:
        assert shown == lines
        return
    assert len(shown) <= MOST_LINES
    left = int(shown[-1].split()[0])
    assert sum(map(bool, shown[:-1])) + left == sum(map(bool, lines))


def test_every_table_keeps_its_title_its_head_and_a_row() -> None:
    tables = [[f"title {name}", "head", *(f"row {name}{n}" for n in range(20))] for name in "abc"]
    shown = shortened(joined(tables))
    assert [line for line in shown if line.startswith("title")] == ["title a", "title b", "title c"]
    assert "row c0" in shown
    assert "row b9" not in shown
    assert shown[-1] == "33 more lines: --all shows them"


def test_what_a_console_would_print_in_full_is_cut() -> None:
    def rows(console: Console) -> None:
        for number in range(100):
            console.print(f"row {number}")

    written = io.StringIO()
    on_one_screen(rows, 10)(Console(width=80, file=written))
    assert written.getvalue().splitlines() == [*(f"row {n}" for n in range(9)), "91 more lines: --all shows them"]
