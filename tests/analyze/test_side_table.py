"""Tables of a run folder in whatever state: provenance, torn rows, cells without a number, and what they are about."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.read.side.metrics import Metric, Periods
from vmtrace.analyze.read.side.table import read_table


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


def test_provenance_and_columns_are_read_and_an_empty_cell_is_nothing(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "# host: vm\n# interval_s: 1.0\ntime_ns,a,b\n1,2,\n3,x,4\n"), "time_ns")
    assert table is not None
    assert table.provenance == {"host": "vm", "interval_s": "1.0"}
    assert table.times_ns("time_ns").tolist() == [1, 3]
    assert np.isnan(table.numbers("a")).tolist() == [False, True]
    assert table.numbers("b").tolist()[1] == 4.0


def test_torn_rows_and_times_that_make_no_sense_are_left_out(tmp_path: Path) -> None:
    rows = "1,2\n-5,2\n9999999999999999999,2\n,2\n2.5,2\n7,8,9\n4,\n5"
    table = read_table(written(tmp_path, f"time_ns,a\n{rows}"), "time_ns")
    assert table is not None
    assert table.times_ns("time_ns").tolist() == [1, 4]


def test_a_number_that_a_crash_tore_is_no_number(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "time_ns,a\n1,2000\n2,20"), "time_ns")
    assert table is not None
    assert table.numbers("a").tolist() == [2000]


def test_a_line_that_has_no_end_is_not_read_into_memory(tmp_path: Path) -> None:
    path = written(tmp_path, "time_ns,a\n1,2\n")
    with path.open("a") as file:
        file.writelines("x" * (1 << 20) for _ in range(64))
        file.write("\n3,4\n")
    tracemalloc.start()
    table = read_table(path, "time_ns")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table is not None
    assert table.numbers("a").tolist() == [2, 4]
    assert peak_bytes < 16 << 20


@pytest.mark.parametrize("text", ["", "# only: this\n", "a,b\n1,2\n", 'a,"b\n' * 5])
def test_a_file_without_a_column_of_times_is_no_table(tmp_path: Path, text: str) -> None:
    assert read_table(written(tmp_path, text), "time_ns") is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_left_out(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"time_ns,a\n1,2\n" + data)
    table = read_table(path, "time_ns")
    assert table is None or len(table.numbers("a")) == len(table.times_ns("time_ns")) == len(table)


def test_a_metric_says_where_it_was_read() -> None:
    assert Metric("x", "steal", "host", "share", place="sender").full_label == "steal of the sender"
    assert (
        Metric("x", "CPU credits", "cloudwatch", "count", place="CloudWatch").full_label == "CPU credits by CloudWatch"
    )
    assert Metric("x", "loss", "packets", "share").full_label == "loss"


def test_periods_have_a_usual_length_and_can_be_moved_to_another_clock() -> None:
    metric = Metric("x", "x", "host", "share")
    second = np.arange(5, dtype=np.int64) * 10**9
    made = Periods(metric, second, second + 10**9, np.ones(5))
    assert made.period_s == 1.0
    assert made.moved(-7).start_ns[0] == -7
    assert Periods(metric, second[:0], second[:0], np.empty(0)).period_s is None
