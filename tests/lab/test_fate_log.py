"""The fate log decodes what the emulator stored and survives the way through CSV."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from tests.lab.packets import fate, tcp_packet
from vmtrace.lab.fate_log import HEADER_BYTES, RECORD, csv_writer, read_binary, read_csv, stream_binary, write_csv
from vmtrace.lab.impairments import Fate


def record(packet: bytes, *, entered: int = 10, out: int = 30, number: int = 0, direction: int = 0) -> bytes:
    return RECORD.pack(entered, 20, out, 7, number, direction, Fate.DELIVERED, len(packet), packet[:HEADER_BYTES])


@pytest.mark.parametrize("version", [4, 6])
def test_header_fields_are_read_from_raw_headers(tmp_path: Path, version: int) -> None:
    packet = tcp_packet(4_000_000_000, 700, ack=5, flags=24, ip_id=77, tsval=123, version=version)
    (tmp_path / "log").write_bytes(record(packet))
    (row,) = read_binary(tmp_path / "log", 1000)
    assert (row.seq, row.ack, row.payload_bytes, row.flags, row.tsval) == (4_000_000_000, 5, 700, 24, 123)
    assert row.ip_id == (77 if version == 4 else 0)
    assert (row.time_in_ns, row.time_due_ns, row.time_out_ns) == (1010, 1020, 1030)


def test_rows_are_in_order_of_entry_and_a_torn_record_is_left_out(tmp_path: Path) -> None:
    packet = tcp_packet(1, 10)
    content = record(packet, entered=50, number=1) + record(packet, entered=10) + record(packet)[:40]
    (tmp_path / "log").write_bytes(content)
    assert [row.number for row in read_binary(tmp_path / "log", 0)] == [0, 1]


def test_other_protocols_are_kept_without_ports(tmp_path: Path) -> None:
    packet = bytearray(tcp_packet(1, 10))
    packet[9] = 17
    (tmp_path / "log").write_bytes(record(bytes(packet)))
    (row,) = read_binary(tmp_path / "log", 0)
    assert row.source_port == 0
    assert row.ip_bytes == len(packet)


@pytest.mark.parametrize("name", ["fates.csv", "fates.csv.gz"])
def test_csv_gives_back_the_same_rows(tmp_path: Path, name: str) -> None:
    rows = [fate(0, 1), fate(1, 101, arrives_ms=None), fate(2, 101, what="held_back")]
    write_csv(rows, tmp_path / name)
    assert list(read_csv(tmp_path / name)) == rows


def test_streaming_gives_order_of_entry_however_late_packets_left(tmp_path: Path) -> None:
    packet = tcp_packet(1, 10)
    # Logged as they leave: the first stays long, the others overtake it.
    content = record(packet, entered=20, out=25, number=1)
    content += record(packet, entered=21, out=26, number=0, direction=1)
    content += record(packet, entered=30, out=35, number=2)
    content += record(packet, entered=10, out=90, number=0)
    content += record(packet, entered=95, out=99, number=3)
    content += record(packet, entered=40, out=0, number=4)  # on its way at the end
    (tmp_path / "log").write_bytes(content)
    rows = list(stream_binary(tmp_path / "log", 0))
    assert [(row.time_in_ns, row.number) for row in rows] == [(10, 0), (20, 1), (21, 0), (30, 2), (40, 4), (95, 3)]
    assert rows == read_binary(tmp_path / "log", 0)


def test_streaming_holds_only_what_was_on_the_path(tmp_path: Path) -> None:
    packet = tcp_packet(1, 10)
    with (tmp_path / "log").open("wb") as file:
        for number in range(40_000):
            file.write(record(packet, entered=10 * number, out=10 * number + 35, number=number))
    tracemalloc.start()
    try:
        assert sum(1 for _ in stream_binary(tmp_path / "log", 0)) == 40_000
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 6_000_000  # of a log of 5.8 MB, whose rows alone would take 20 MB


def test_a_row_is_given_on_once_it_is_written(tmp_path: Path) -> None:
    rows = [fate(number, number) for number in range(3)]
    assert list(csv_writer(rows, tmp_path / "fates.csv")) == rows
    assert list(read_csv(tmp_path / "fates.csv")) == rows
