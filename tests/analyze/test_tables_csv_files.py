"""Tables of records as files: the columns of all rows, no file for what has no rows, and where it comes from."""

import csv
import json
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from vmtrace.analyze.tables.csv_files import flat, harmless, write_table, write_tables
from vmtrace.analyze.tables.query import shown


def test_a_table_has_the_columns_of_all_its_rows_and_an_empty_one_no_file(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"n": 1, "loss": 0.5}, {"n": 2, "window": "x"}]
    tables: dict[str, list[dict[str, Any]]] = {"by_cause": rows, "nothing": []}
    write_tables(tables, {"schema": "s/1"}, tmp_path / "csv")
    assert (tmp_path / "csv/by-cause.csv").read_text() == '"n","loss","window"\n1,0.5,\n2,,"x"\n'
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == ["by-cause.csv", "provenance.json"]
    assert json.loads((tmp_path / "csv/provenance.json").read_text()) == {"schema": "s/1"}
    assert stat.S_IMODE((tmp_path / "csv/by-cause.csv").stat().st_mode) == 0o600


def test_a_table_whose_columns_are_given_is_there_without_rows(tmp_path: Path) -> None:
    write_table(tmp_path, "clock_steps", [], ("at_ns", "step_s"))
    assert (tmp_path / "clock-steps.csv").read_text() == '"at_ns","step_s"\n'


def test_what_is_nested_is_joined_by_underscores() -> None:
    assert flat({"a": 1, "rtt": {"min_s": 2, "of": {"n": 3}}}) == {"a": 1, "rtt_min_s": 2, "rtt_of_n": 3}


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd", "-2", "@SUM(A1)", "a=b", "", "plain", "\x1b[2Jx", "a\u202eb", "\x9b31m", "'=1", "\0=1", "\u061c"],
)
def test_no_cell_runs_in_a_spreadsheet_or_steers_a_terminal(text: str, tmp_path: Path) -> None:
    write_table(tmp_path, "t", [{"text": text, "number": -5}], ("text", "number"))
    _, (cell, number) = csv.reader((tmp_path / "t.csv").read_text().splitlines())
    assert number == "-5"
    assert not cell.startswith(("=", "+", "-", "@"))
    assert all(letter.isprintable() for letter in cell)
    if text.isprintable() and not text.startswith(("=", "+", "-", "@")):
        assert cell == text


def test_names_in_captures_are_written_harmlessly(tmp_path: Path) -> None:
    names = pa.array(["=HYPERLINK(1)", None])
    table = pa.table({"sni": names, "kind": names.dictionary_encode(), "packets": [1, 2]})
    harmless_names = ["'=HYPERLINK(1)", None]
    assert harmless(table).to_pydict() == {"sni": harmless_names, "kind": harmless_names, "packets": [1, 2]}


def test_the_result_of_a_question_runs_in_no_spreadsheet() -> None:
    assert shown(pa.table({"name": ["=1+1", "\x9b31m"], "n": [-1, -2]}), "csv") == (
        '"name","n"\n"\'=1+1",-1\n"\N{REPLACEMENT CHARACTER}31m",-2\n'
    )
