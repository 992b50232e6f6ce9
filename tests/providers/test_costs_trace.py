"""Traces are read from CSV and Parquet alike; what cannot be an access is refused with its row."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

sys.path.append(str(Path(__file__).parents[2]))

from tests.providers.accesses import write_csv
from vmtrace.providers.costs.chunk import DELETE, LIST, READ, WRITE, Chunk
from vmtrace.providers.costs.index import DictionaryIndex, HashIndex
from vmtrace.providers.costs.trace import Trace, TraceError

ROWS = ("0,a,10,GET,home", "1.5,b,20,put,eu", "2,a,10,read,eu", "3,,0,list,home", "4,b,0,delete,home")


def one_chunk(path: Path, region: str | None = "eu") -> Chunk:
    (chunk,) = Trace(path, region)
    return chunk


def check(chunk: Chunk) -> None:
    assert chunk.times.tolist() == [0, 1.5, 2, 3, 4]
    assert chunk.objects.tolist() == [2, 3, 2, 4, 3]
    assert chunk.sizes.tolist() == [10, 20, 10, 0, 0]
    assert chunk.operations.tolist() == [READ, WRITE, READ, LIST, DELETE]
    assert chunk.outside.tolist() == [True, False, False, True, True]


def test_csv_plain_and_compressed(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", *ROWS)
    check(one_chunk(path))
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    check(one_chunk(packed))


def test_parquet_with_dictionaries_and_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = list(zip(*(row.split(",") for row in ROWS), strict=True))
    table = pa.table(
        {
            "time": pa.array([round(float(one) * 1000) for one in columns[0]], pa.timestamp("ms", "UTC")),
            "object": pa.array(columns[1]).dictionary_encode(),
            "bytes": pa.array([int(one) for one in columns[2]], pa.uint32()),
            "operation": pa.array(columns[3]).dictionary_encode(),
            "place": columns[4],
            "user": ["x"] * 5,
        }
    )
    parquet.write_table(table, path)
    check(one_chunk(path))


def test_times_of_csv_may_be_timestamps_with_parts_of_a_second_later_on(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path / "t.csv", "2003-01-01T00:00:00,a,1", "2003-01-01T00:00:01.25,a,1", head="time,object,bytes"
    )
    assert np.diff(one_chunk(path).times).tolist() == [1.25]


def test_all_accesses_are_reads_from_outside_where_nothing_says_otherwise(tmp_path: Path) -> None:
    chunk = one_chunk(write_csv(tmp_path / "t.csv", "0,a,1", head="time,object,bytes"))
    assert (chunk.operations.tolist(), chunk.outside.tolist()) == ([READ], [True])
    assert one_chunk(write_csv(tmp_path / "u.csv", "0,a,1,read,eu"), None).outside.tolist() == [True]


def test_objects_may_be_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"time": [0.0, 1.0, 2.0], "object": [7, 8, 7], "bytes": [1, 1, 1]}), path)
    assert one_chunk(path).objects.tolist() == [2, 3, 2]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,a,1,read,", "0.5,a,1,read,"], "row 2: time goes back by 0.5 s: sort the trace by time"),
        (["1,a,-1,read,"], "row 1: bytes: less than nothing"),
        (["1,a,9999999999999999,read,"], "row 1: bytes: absurd: at most 1,125,899,906,842,624"),
        (["1,a,1,read,", "2,a,1,steal,"], "row 2: operation 'steal': expected one of read, get,"),
        (["1,a,x,read,"], "invalid value 'x'"),
        (["inf,a,1,read,"], "row 1: time: expected a finite number"),
        (["soon,a,1,read,"], "time: expected seconds or timestamps, not string"),
        (["1,a,,read,"], "row 1: bytes: nothing in it"),
        (["1,a"], "Expected 5 columns"),
        ([], "no access in it"),
    ],
)
def test_what_cannot_be_an_access_is_one_line_with_its_row(lines: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as refused:
        list(Trace(write_csv(tmp_path / "t.csv", *lines), None))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no column object, bytes \(a trace has time, object"):
        list(Trace(write_csv(tmp_path / "t.csv", "1,x", head="time,key"), None))


def test_times_may_not_go_back_between_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.providers.costs.trace._BATCH_ROWS", 2)
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"time": [0.0, 5.0, 4.0], "object": ["a"] * 3, "bytes": [1] * 3}), path)
    with pytest.raises(TraceError, match="row 3: time goes back by 1 s"):
        list(Trace(path, None))


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1" + bytes(100), b"\xff\xfe\x00" * 50, b"time,object,bytes\n\xff,\xff,1\n"]
)
def test_any_other_file_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(TraceError) as refused:
        list(Trace(path, None))
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_a_folder_and_nothing_are_no_traces(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="not a file"):
        list(Trace(tmp_path, None))
    with pytest.raises(TraceError, match="no such file"):
        list(Trace(tmp_path / "none", None))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.text(max_size=5), max_size=30), max_size=4))
def test_both_indexes_number_names_in_the_order_of_their_first_appearance(parts: list[list[str]]) -> None:
    known: dict[str, int] = {}
    hashed, plain = HashIndex(2), DictionaryIndex(2)
    for part in parts:
        names = pa.array([one.encode("utf-8", "replace").decode() for one in part], pa.string())
        expected = [known.setdefault(one, 2 + len(known)) for one in names.to_pylist()]
        assert hashed.numbers(names).tolist() == plain.numbers(names).tolist() == expected
    assert hashed.count == plain.count == len(known)


def test_the_index_grows_with_its_objects_and_takes_slices() -> None:
    index = HashIndex(2)
    names = pa.array([f"object {number}" for number in range(200_000)])
    assert index.numbers(names).tolist() == list(range(2, 200_002))
    assert index.numbers(names.slice(1000, 2)).tolist() == [1002, 1003]
    assert index.count == 200_000
