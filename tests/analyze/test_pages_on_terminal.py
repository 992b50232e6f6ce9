"""The parts of a report on the terminal: what was run, what is wrong, what it shows, then tables."""

import io

from rich.console import Console

from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.pages.on_terminal import show
from vmtrace.analyze.tables.table import of_texts

TABLE = of_texts("calls", "Calls", ("run", "stage", "n"), [("r", "first", "7")])


def printed(*, several: bool) -> list[str]:
    out = io.StringIO()
    parts = (Lines(("a fact",), "the run", ("a trouble",)), TABLE)
    show(parts, Console(file=out, width=60, color_system=None, markup=False), several=several)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_parts_come_in_their_order_with_troubles_first() -> None:
    assert printed(several=True) == [
        "the run", "  a trouble", "  a fact", "", "Calls", "run  stage  n", "r    first  7",
    ]  # fmt: skip


def test_of_one_run_its_column_is_left_out() -> None:
    assert printed(several=False)[-2:] == ["stage  n", "first  7"]
