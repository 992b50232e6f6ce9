"""The object of a notebook: what it reads, and that the data tools take its tables as they are.

Subjects: analyze/trace.py, analyze/read/options.py
"""

import gzip
import io
import json
import math
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from vmtrace.analyze.read.filter import FilterError
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.trace import Options, TraceError, connection_columns, read


def pandas_frame(table: Any) -> Any:
    """Pandas 3 takes Arrow tables as they are; before it, pyarrow is the way in."""
    from_arrow = getattr(pd.DataFrame, "from_arrow", None)
    return from_arrow(table) if from_arrow else pa.table(table).to_pandas()


def rows(query: str, **tables: Any) -> list[Any]:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.execute(query).fetchall()


def test_numbers_of_a_transfer_are_those_it_was_made_with(transfer_file: Path) -> None:
    trace = read(transfer_file)
    row = trace.row(0)
    assert len(trace) == 1
    assert (row["client"], row["server"], row["close"]) == ("10.0.0.1:40000", "10.0.0.2:5001", "fin")
    assert row["client_to_server_unique_payload_bytes"] == 50_000
    assert row["client_to_server_loss_retransmitted_segments"] == 1
    assert row["client_to_server_rtt_min_s"] == pytest.approx(0.020)
    assert row["handshake_rtt_s"] == pytest.approx(0.0201)


def test_every_kind_of_source_gives_the_same(transfer_file: Path) -> None:
    content = transfer_file.read_bytes()
    with transfer_file.open("rb") as stream:
        traces = [read(transfer_file), read(str(transfer_file)), read(content), read(io.BytesIO(content)), read(stream)]
    assert len({json.dumps(trace.json()["connections"]) for trace in traces}) == 1
    for trace in traces:
        assert len(trace.packets(1)) == 107


def test_pyarrow_polars_pandas_and_duckdb_take_the_tables_as_they_are(two_transfers: Any) -> None:
    trace = read(two_transfers.bytes())
    connections, packets, syns = trace.connections, trace.packets([1, 2]), trace.syns
    assert pa.table(packets).num_rows == 134
    assert pl.DataFrame(connections)["id"].to_list() == [1, 2]
    assert list(pandas_frame(connections)["id"]) == [1, 2]
    assert rows("select sum(syn) from syns", syns=syns) == [(2,)]
    assert rows("select count(*) from packets where kind = 'retransmission'", packets=packets) == [(2,)]
    assert len(syns) == 2


def test_records_are_those_of_the_whole_document(two_transfers: Any) -> None:
    trace = read(two_transfers.bytes())
    document = trace.json()
    assert trace.records([2, 1]) == document["connections"][::-1]
    assert trace.header() == {key: value for key, value in document.items() if key not in ("connections", "findings")}
    for unknown in (0, 3, -1):
        with pytest.raises(KeyError):
            trace.records([unknown])


def test_the_largest_connection_comes_first(two_transfers: Any, transfer_into: Any) -> None:
    transfer_into(two_transfers, start_s=20.0, port=40_002, segments=90)
    trace = read(two_transfers.bytes())
    assert [trace.row(index)["id"] for index in trace.largest()] == [3, 1, 2]
    assert len(trace.largest(1)) == 1


def test_a_filter_leaves_out_what_does_not_match(two_transfers: Any) -> None:
    trace = read(two_transfers.bytes(), options=Options(filter="tcp port 40001"))
    assert [row["client"] for row in (trace.row(0),)] == ["10.0.0.1:40001"]
    with pytest.raises(FilterError):
        read(two_transfers.bytes(), options=Options(filter="tcp prt 1"))


def test_packets_asked_for_at_once_need_no_second_pass(transfer_file: Path) -> None:
    trace = read(transfer_file, options=Options(packets_of=(1,)))
    transfer_file.unlink()
    assert len(trace.packets(1)) == 107


def test_captures_can_be_kept_apart(two_transfers: Any) -> None:
    content = two_transfers.bytes()
    assert len(read(content, content, options=Options(grouping=Grouping.SEPARATE))) == 4


def test_unusually_long_pause_follows_the_option(transfer: Any) -> None:
    few, many = (
        read(transfer.bytes(), options=Options(oversize_abs_ms=limit)).values("client_to_server_spacing_oversize")
        for limit in (1000, 5)
    )
    assert few == [0]
    assert many[0] > 30


@pytest.mark.parametrize(
    "options",
    [
        Options(threads=-1),
        Options(threads=1025),
        Options(oversize_abs_ms=0),
        Options(oversize_abs_ms=-1),
        Options(oversize_abs_ms=math.inf),
        Options(oversize_abs_ms=math.nan),
    ],
)
def test_an_option_out_of_range_is_refused_in_words(transfer: Any, options: Options) -> None:
    with pytest.raises(ValueError, match=r"^(threads|oversize_abs_ms): .*, not "):
        read(transfer.bytes(), options=options)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"threads": 1}, "options: vmtrace.Options"),
        (Options(grouping="separate"), "grouping: a Grouping, not 'separate'"),  # type: ignore[arg-type]
        (Options(threads="2"), "threads: a whole number, not '2'"),  # type: ignore[arg-type]
        (Options(filter=443), "filter: a filter expression, not 443"),  # type: ignore[arg-type]
        (Options(oversize_abs_ms="5"), "oversize_abs_ms: a number, not '5'"),  # type: ignore[arg-type]
        (Options(packets_of=1), "packets_of: a sequence of connections' numbers, not 1"),  # type: ignore[arg-type]
    ],
)
def test_an_option_of_another_kind_is_refused_in_words(transfer: Any, options: Options, what: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(what)}"):
        read(transfer.bytes(), options=options)


def test_numbers_of_numpy_are_numbers(two_transfers: Any) -> None:
    options = Options(threads=np.int64(1), oversize_abs_ms=np.float32(5))  # type: ignore[arg-type]
    trace = read(two_transfers.bytes(), options=options)
    assert len(trace.packets(np.array([1, 2]))) == 134


def test_packets_take_one_column_and_only_numbers(transfer: Any) -> None:
    trace = read(transfer.bytes())
    assert trace.packets(1, columns="rtt_s").names == ["rtt_s"]
    for wrong in ("1", 1.0, None):
        with pytest.raises(TypeError):
            trace.packets(wrong)  # type: ignore[arg-type]


def test_a_summary_of_nothing_is_refused_in_words(transfer: Any) -> None:
    trace = read(transfer.bytes())
    for arguments in ({"limit": 0}, {"width": 0}, {"limit": -1}):
        with pytest.raises(ValueError, match="1 or more, not"):
            trace.summary(**arguments)


def test_where_the_system_gives_fewer_threads_those_do_all_the_work(transfer_file: Path) -> None:
    program = f"""
import resource
from vmtrace.analyze.trace import Options, read

one = read({str(transfer_file)!r}, options=Options(threads=1)).row(0)
with open("/proc/self/statm") as statm:
    used_bytes = int(statm.read().split()[0]) * resource.getpagesize()
# Room for the stacks of some hundred threads.
limit_bytes = used_bytes + (1 << 29)
resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))
assert read({str(transfer_file)!r}, options=Options(threads=1024)).row(0) == one
print("the same")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == "the same\n", ended.stderr


def test_anonymous_results_name_nobody(two_transfers: Any, tmp_path: Path) -> None:
    path = two_transfers.write(tmp_path / "x.pcap")
    trace = read(path, options=Options(anonymize=True))
    table = pa.table(trace.connections)
    shown = "".join(
        (json.dumps(trace.json()), trace.summary(), trace._repr_html_(), str(table.to_pylist()), str(trace.row(0)))
    )
    assert "10.0.0." not in shown
    assert str(tmp_path) not in shown
    assert table["server"].to_pylist() == trace.values("server") == [trace.records([i])[0]["server"] for i in (1, 2)]
    assert len(set(trace.values("server"))) == 1


def test_what_is_no_capture_is_an_error() -> None:
    with pytest.raises(TraceError, match="<bytes>"):
        read(b"these are notes")


def test_an_archive_of_captures_is_named(transfer_file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "captures.tar"
    with tarfile.open(plain, "w") as archive:
        archive.add(transfer_file, arcname="x.pcap")
    for content in (plain.read_bytes(), gzip.compress(plain.read_bytes())):
        with pytest.raises(TraceError, match="a tar archive: unpack it first"):
            read(content)


def test_a_notebook_shows_a_table(transfer: Any) -> None:
    trace = read(transfer.bytes())
    assert "<td>10.0.0.1:40000</td>" in trace._repr_html_()
    assert "10.0.0.1:40000" in trace.summary()
    assert repr(trace) == "<vmtrace.Trace of '<bytes>': 1 connection>"
    shape = f"1 rows, {len(trace.connections.names)} columns"
    assert repr(trace.connections) == f"<table: {shape}: {', '.join(trace.connections.names[:6])}, ...>"


def test_an_unknown_column_has_no_values(transfer: Any) -> None:
    assert read(transfer.bytes()).values("no_such_column") == [None]


def test_packets_of_some_are_those_of_no_others_whatever_was_asked_for_before(
    two_transfers: Any, tmp_path: Path
) -> None:
    content = two_transfers.bytes()
    alone = [pa.table(read(content).packets(number)) for number in (1, 2)]
    several = read(content)
    both = pa.table(several.packets([1, 2]))
    assert both.num_rows == sum(table.num_rows for table in alone)
    assert all(pa.table(several.packets(number)).equals(table) for number, table in zip((1, 2), alone, strict=True))
    with subprocess.Popen(["cat", two_transfers.write(tmp_path / "x.pcap")], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        once = read(f"/dev/fd/{cat.stdout.fileno()}", options=Options(packets_of=(1, 2)))
        assert pa.table(once.packets(2)).equals(alone[1])


def test_packets_have_only_the_columns_asked_for(two_transfers: Any) -> None:
    trace = read(two_transfers.bytes())
    whole = pa.table(trace.packets([1, 2]))
    assert pa.table(trace.packets([1, 2], columns=["frame", "rtt_s"])).equals(whole.select(["frame", "rtt_s"]))
    with pytest.raises(KeyError, match="no_such_column"):
        trace.packets(1, columns=["frame", "no_such_column"])


@pytest.mark.parametrize("rows", [1, 50, 1000])
def test_packets_in_pieces_are_the_whole_table(two_transfers: Any, rows: int) -> None:
    trace = read(two_transfers.bytes())
    whole = pa.table(trace.packets([1, 2]))
    for connections, expected in (([1, 2], whole), ([2], whole.filter(pc.equal(whole["connection"], 2)))):
        trace.load_packets([1, 2])
        pieces = list(trace.packet_tables(connections, rows))
        assert [piece.num_rows for piece in pieces[:-1]] == [rows] * (len(expected) // rows)
        assert pa.concat_tables(pieces).to_pylist() == expected.to_pylist()


def test_packets_that_were_forgotten_are_read_again(two_transfers: Any, tmp_path: Path) -> None:
    path = two_transfers.write(tmp_path / "x.pcap")
    trace = read(path)
    first = pa.table(trace.packets(1))
    trace.forget_packets()
    assert pa.table(trace.packets(1)).equals(first)
    trace.forget_packets()
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(OSError, match="changed"):
        trace.packets(1)


def test_packets_of_a_connection_that_there_is_not_are_a_key_error(transfer: Any) -> None:
    trace = read(transfer.bytes())
    for number in (0, 2, -1):
        with pytest.raises(KeyError):
            trace.packets(number)
    with pytest.raises(KeyError):
        trace.packets([1, 99])
    assert len(trace.packets(np.int64(1))) == len(trace.packets(np.array([1]))) == 107


@pytest.mark.parametrize("how", ["rewritten", "replaced", "grown"])
def test_a_file_that_has_changed_is_not_read_for_the_packets_of_another(transfer_file: Path, how: str) -> None:
    trace = read(transfer_file)
    content = transfer_file.read_bytes()
    if how == "replaced":
        transfer_file.rename(transfer_file.with_suffix(".old"))
    if how == "grown":
        content += bytes(4)
    transfer_file.write_bytes(content)
    os.utime(transfer_file, ns=(0, 0))
    with pytest.raises(OSError, match="it has changed since it was measured") as raised:
        trace.packets(1)
    assert raised.value.filename == str(transfer_file)


def test_ctrl_c_while_packets_are_read_gives_no_part_of_them(
    transfer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = read(transfer_file)
    monkeypatch.setattr(trace, "_run", lambda *_, **__: SimpleNamespace(interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        trace.packets(1)
    monkeypatch.undo()
    assert len(trace.packets(1)) == 107


def test_the_table_of_no_capture_has_the_columns_of_every_capture(two_transfers: Any) -> None:
    columns = connection_columns()
    table = pa.table(read(two_transfers.bytes()).connections)
    assert columns.names == table.column_names
    text = {name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)}
    text |= {name for name in table.column_names if pa.types.is_dictionary(table.schema.field(name).type)}
    assert set(columns.texts) == text
    assert {"client", "close", "verdict_sentence"} <= text


def test_names_that_would_turn_or_steer_a_terminal_are_escaped_in_json(transfer: Any, tmp_path: Path) -> None:
    name = "a\u202eb\x85\x9bc\u2066d.pcap"
    pieces = list[bytes]()
    read(transfer.write(tmp_path / name)).write_json(pieces.append)
    text = b"".join(pieces).decode()
    assert re.findall("[\x00-\x09\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text) == []
    assert json.loads(text)["inputs"][0]["path"].endswith(name)
