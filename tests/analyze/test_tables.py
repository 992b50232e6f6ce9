"""Tables on disk hold what the engine gave, with where they come from."""

import json
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from vmtrace.analyze.tables import provenance
from vmtrace.analyze.tables import write as tables
from vmtrace.analyze.trace import Options, Trace, read


@pytest.fixture
def trace(two_transfers: Any, tmp_path: Path) -> Trace:
    return read(two_transfers.write(tmp_path / "x.pcap"))


def test_parquet_tables_are_read_back_as_they_were(trace: Trace, tmp_path: Path) -> None:
    tables.write_parquet(trace, tmp_path / "out", [1], provenance.of(trace, anonymous=False))
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [
        "connections.parquet",
        "findings.parquet",
        "flows.parquet",
        "lookups.parquet",
        "packets.parquet",
        "syns.parquet",
    ]
    assert pl.read_parquet(tmp_path / "out" / "connections.parquet").equals(pl.DataFrame(trace.connections))
    assert pq.read_table(tmp_path / "out" / "packets.parquet").num_rows == 107


def test_parquet_tables_say_where_they_come_from(trace: Trace, tmp_path: Path) -> None:
    tables.write_parquet(trace, tmp_path / "out", [], provenance.of(trace, anonymous=False))
    file = pq.ParquetFile(tmp_path / "out" / "syns.parquet")
    metadata = file.schema_arrow.metadata
    assert metadata[b"vmtrace.schema"] == b"vmtrace.analysis/1"
    assert json.loads(metadata[b"vmtrace.inputs"])[0]["path"] == str(tmp_path / "x.pcap")
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_csv_tables_hold_the_same_and_lie_beside_their_provenance(trace: Trace, tmp_path: Path) -> None:
    facts = provenance.of(trace, anonymous=False)
    tables.write_csv(trace, tmp_path / "out", [2], facts)
    table = pyarrow.csv.read_csv(tmp_path / "out" / "connections.csv")
    assert table["client"].to_pylist() == ["10.0.0.1:40000", "10.0.0.1:40001"]
    packets = pyarrow.csv.read_csv(tmp_path / "out" / "packets.csv")
    assert packets["kind"].to_pylist().count("retransmission") == 1
    assert json.loads((tmp_path / "out" / "provenance.json").read_text()) == facts


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_tables_written_in_pieces_are_whole(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(tables, "_ROWS_AT_ONCE", rows)
    facts = provenance.of(trace, anonymous=False)
    tables.write_parquet(trace, tmp_path, [], facts)
    tables.write_csv(trace, tmp_path, [], facts)
    assert pl.read_parquet(tmp_path / "connections.parquet").equals(pl.DataFrame(trace.connections))
    assert pl.read_csv(tmp_path / "connections.csv")["client"].to_list() == trace.values("client")


def test_pieces_of_an_anonymised_table_have_one_name_for_each_host(two_transfers: Any, tmp_path: Path) -> None:
    trace = read(two_transfers.write(tmp_path / "x.pcap"), options=Options(anonymize=True))
    whole = pl.DataFrame(trace.connections)
    assert pl.concat([pl.DataFrame(piece) for piece in trace.connection_tables(1)]).equals(whole)


def test_tables_are_their_owners_alone(trace: Trace, tmp_path: Path) -> None:
    tables.write_csv(trace, tmp_path / "out", [], provenance.of(trace, anonymous=False))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o600}


def test_a_capture_without_connections_gives_tables_with_columns(new_capture: Any, tmp_path: Path) -> None:
    empty = read(new_capture().bytes())
    tables.write_parquet(empty, tmp_path, [], provenance.of(empty, anonymous=False))
    table = pq.read_table(tmp_path / "connections.parquet")
    assert table.num_rows == 0
    assert "client_to_server_rtt_min_s" in table.column_names


def test_names_stay_out_of_anonymous_tables(two_transfers: Any, tmp_path: Path) -> None:
    path = two_transfers.write(tmp_path / "x.pcap")
    trace = read(path, options=Options(anonymize=True))
    tables.write_csv(trace, tmp_path / "out", [1], provenance.of(trace, anonymous=True))
    shown = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert "10.0.0." not in shown
    assert str(tmp_path) not in shown


def test_provider_sums_become_a_table(tmp_path: Path) -> None:
    tables.write_providers_csv([{"provider": "AWS", "connections": 2, "overhead_ratio": None}], tmp_path)
    assert (tmp_path / "providers.csv").read_text().splitlines() == [
        '"provider","connections","overhead_ratio"',
        '"AWS",2,',
    ]
