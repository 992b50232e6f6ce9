"""What is true of each transfer: its own connections, its stalls, its timing, and nothing of another's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.lab.packets import fate
from vmtrace.lab.campaign.connections import Connection
from vmtrace.lab.campaign.transfers import Transfers, read_pairs
from vmtrace.lab.stalls import Stall
from vmtrace.lab.timing import Standstills

MS = 1_000_000


def transfer(start_ms: int, end_ms: int, *ports: int) -> dict[str, Any]:
    ends = [{"stream": 0, "direction": "upload", "local": f"[fd00::1]:{port}", "peer": "h:2000"} for port in ports]
    return {"start_ns": start_ms * MS, "end_ns": end_ms * MS, "connections": ends}


def pairs(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"sequence": 9, "to')
    return path


def connection(start_ms: int, port: int, *, late_ms: int = 0) -> Connection:
    """Three segments, of which the second is lost and sent again."""
    result = Connection(port, 2000)
    rows = [fate(start_ms, 100), fate(start_ms + 1, 200, arrives_ms=None), fate(start_ms + 2, 200)]
    for row in rows:
        left = row.time_out_ns + late_ms * MS if row.time_out_ns else 0
        result.add(replace(row, source_port=port, time_out_ns=left))
    return result


def test_a_transfer_has_the_counts_of_its_connection(tmp_path: Path) -> None:
    path = pairs(tmp_path, {"sequence": 1, "index": "I_3", "probe": transfer(0, 50, 1000), "data": None})
    transfers = Transfers(read_pairs(path), [], Standstills([]))
    record = transfers.add(connection(10, 1000))
    assert record is not None
    assert (record["sequence"], record["index"], record["transfer"]) == (1, "I_3", "probe")
    assert record["good"] is True
    wanted = {"data_segments_sent": 3, "data_segments_lost": 1, "retransmissions_sent": 1, "data_segments_arrived": 2}
    assert {name: record["forward"][name] for name in wanted} == wanted
    assert record["reverse"] == {}
    assert (record["stalls"], record["stalled_s"]) == (0, 0)


def test_parallel_streams_are_summed_and_told_when_all_are_in(tmp_path: Path) -> None:
    path = pairs(tmp_path, {"sequence": 1, "index": "I_0", "probe": None, "data": transfer(0, 50, 1000, 1001)})
    transfers = Transfers(read_pairs(path), [], Standstills([]))
    assert transfers.add(connection(10, 1000)) is None
    record = transfers.add(connection(11, 1001))
    assert record is not None
    assert record["forward"]["data_segments_sent"] == 6
    assert list(transfers.rest()) == []


def test_the_same_ports_at_another_time_and_strangers_belong_to_nobody(tmp_path: Path) -> None:
    path = pairs(tmp_path, {"sequence": 1, "index": "I_0", "probe": transfer(0, 50, 1000), "data": None})
    transfers = Transfers(read_pairs(path), [], Standstills([]))
    assert transfers.add(connection(100_000, 1000)) is None
    assert transfers.add(connection(10, 1234)) is None
    assert transfers.unassigned == 2
    (record,) = transfers.rest()
    assert record["good"] is False
    assert "the log has 0 of 1 connections" in record["problems"]


def test_stalls_within_a_transfer_are_counted_with_their_share_of_it(tmp_path: Path) -> None:
    stalls = [
        Stall(start_ms * MS, length_s, "x") for start_ms, length_s in ((0, 0.005), (90, 0.02), (150, 0.1), (300, 1))
    ]
    path = pairs(tmp_path, {"sequence": 1, "index": "I_0", "probe": transfer(100, 200, 1000), "data": None})
    record = Transfers(read_pairs(path), stalls, Standstills([])).add(connection(110, 1000))
    assert record is not None
    assert record["stalls"] == 2
    assert record["stalled_s"] == 0.06


def test_a_transfer_is_not_good_when_the_emulator_was_late_or_stalled_in_it(tmp_path: Path) -> None:
    path = pairs(
        tmp_path,
        {"sequence": 1, "index": "I_0", "probe": transfer(0, 50, 1000), "data": transfer(60, 90, 1001)},
        {"sequence": 2, "index": "I_0", "probe": transfer(100, 150, 1002), "data": None},
    )
    transfers = Transfers(read_pairs(path), [], Standstills([(70 * MS, 8 * MS)]))
    late, stood, fine = (transfers.add(each) for each in (
        connection(10, 1000, late_ms=3), connection(65, 1001), connection(110, 1002)
    ))  # fmt: skip
    assert late is not None
    assert stood is not None
    assert fine is not None
    assert "delay error" in late["problems"][0]
    assert "paused" in stood["problems"][0]
    assert fine["good"] is True


def test_no_pairs_no_transfers(tmp_path: Path) -> None:
    assert read_pairs(tmp_path / "pairs.jsonl") == []
