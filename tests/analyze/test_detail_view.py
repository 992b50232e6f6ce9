"""All of one connection, for reading."""

import io
from typing import Any

import pytest
from rich.console import Console

from vmtrace.analyze.tables.detail_view import account_lines, show
from vmtrace.analyze.trace import read
from vmtrace.analyze.words.units import ABSENT


def shown(record: dict[str, Any]) -> str:
    out = io.StringIO()
    reasons = {"no_data": "no data was seen in this direction"}
    show(record, reasons, Console(file=out, width=100, no_color=True))
    return out.getvalue()


@pytest.fixture
def record(transfer: Any) -> dict[str, Any]:
    return read(transfer.bytes()).records([1])[0]


def cells(text: str, label: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.strip().startswith(label))
    return line.strip().removeprefix(label).split("  ")


def test_both_directions_stand_side_by_side(record: dict[str, Any]) -> None:
    text = shown(record)
    assert "connection 1: 10.0.0.1:40000 → 10.0.0.2:5001" in text
    assert [cell.strip() for cell in cells(text, "retransmitted segments") if cell] == ["1", "0"]
    assert [cell.strip() for cell in cells(text, "unique payload bytes") if cell] == ["50.0 kB", "0 B"]


def test_the_ledger_is_reported_in_shares(record: dict[str, Any]) -> None:
    text = shown(record)
    assert "where the bytes went" in text
    assert cells(text, "application bytes")[-1].strip() == "88.0 %"


def test_reasons_for_what_is_missing_are_reported(record: dict[str, Any]) -> None:
    assert "not measured, or uncertain:" in shown(record)
    assert "no data was seen in this direction (server → client)" in shown(record)


def test_a_field_that_only_one_direction_has_is_reported(record: dict[str, Any]) -> None:
    record["client_to_server"]["limits"] = []  # told by direction, below the table
    text = shown(record)
    assert "segment_size_bytes" not in record["server_to_client"]
    labels = [line.split("  ")[0] for line in text.splitlines()]
    size, absent = (cell.strip() for cell in cells(text, "segment size bytes") if cell)
    assert size != ABSENT
    assert absent == ABSENT
    assert labels.index("segment size bytes") == labels.index("unique payload bytes") + 1

    record["client_to_server"], record["server_to_client"] = record["server_to_client"], record["client_to_server"]
    swapped = shown(record)
    assert [cell.strip() for cell in cells(swapped, "segment size bytes") if cell] == [absent, size]
    assert [line.split("  ")[0] for line in swapped.splitlines()] == labels


def test_a_reason_that_is_left_out_counts_nothing(record: dict[str, Any]) -> None:
    record["client_to_server"]["rtt"]["rejected"] = {"held_back_by_hole": 7}
    record["server_to_client"]["rtt"]["rejected"] = {"retransmitted": 2}
    text = shown(record)
    assert [cell.strip() for cell in cells(text, "ACK held back by a hole") if cell] == ["7", "0"]
    assert [cell.strip() for cell in cells(text, "retransmitted  ") if cell] == ["0", "2"]


def test_what_a_direction_without_data_lacks_is_reported_in_one_line(record: dict[str, Any]) -> None:
    assert record["server_to_client"]["not_measured"]["*"] == "no_data"
    assert "all that needs data: no data was seen in this direction (server → client)" in shown(record)


def test_gaps_are_reported_with_the_frames_that_prove_them(record: dict[str, Any]) -> None:
    record["client_to_server"]["spacing"]["anomalies"] = [
        {"start_ns": record["start_ns"] + 10**9, "gap_s": 0.5, "cause": "unknown", "confidence": None, "frames": [7, 9]}
    ]
    assert "500 ms at +1.000000 s, frames 7 to 9, cause unknown" in shown(record)


@pytest.mark.parametrize(("side", "place"), [("client", "at the client"), ("middle", "middle"), ("unknown", "unknown")])
def test_the_place_of_the_capture_is_reported(record: dict[str, Any], side: str, place: str) -> None:
    record["vantage"] = {"side": side, "confidence": 0.9}
    assert f"  captured: {place} (confidence 90.0 %)" in shown(record).splitlines()


def test_retransmissions_of_the_handshake_are_told_where_they_are_known(record: dict[str, Any]) -> None:
    record["handshake"] |= {"complete": True, "rtt_s": 0.02, "syn_retransmissions": 2, "syn_ack_retransmissions": None}
    assert "  handshake complete, RTT 20.0 ms, 2 SYN retransmitted" in shown(record).splitlines()
    record["handshake"] |= {"complete": False, "syn_retransmissions": None}
    assert "  handshake incomplete in the capture, RTT 20.0 ms" in shown(record).splitlines()


def test_what_is_no_number_is_reported_in_words_and_lists_are_left_to_their_own_lines(record: dict[str, Any]) -> None:
    record["verdict"] = None
    record["tls"] = {"version": "TLS 1.3", "resumed": True, "early_data": False, "records": 3, "alpn": None}
    text = shown(record)
    assert "why:" not in text
    for label, reported in (("resumed", "yes"), ("early data", "no"), ("records", "3"), ("alpn", ABSENT)):
        assert cells(text, label)[-1].strip() == reported
    labels = [line.strip() for line in text.splitlines()]
    assert record["client_to_server"]["limits"]
    assert not any(label.startswith(("limits", "limit intervals", "not measured ", "peak frames")) for label in labels)


def test_an_overhead_of_more_than_all_is_reported(record: dict[str, Any]) -> None:
    record["ledger"]["overhead_ratio"] = 6.92
    assert "692 %" in shown(record)


def test_tls_names_cannot_steer_the_terminal(record: dict[str, Any]) -> None:
    record["tls"] = {"version": "1.3", "sni": "\x1b[2Jx[bold]", "alerts": ["\x1b"], "records": 3, "not_measured": {}}
    assert "\x1b" not in shown(record)
    assert "x[bold]" in shown(record), "square brackets are no markup"


def test_peak_rates_stand_with_their_frames(long_transfer: Any) -> None:
    long = read(long_transfer.bytes()).records([1])[0]
    first, last = long["client_to_server"]["peak_frames"]["100ms"]
    assert f"(frames {first} to {last})" in cells(shown(long), "in 100 ms")[-1]


def test_a_token_bucket_of_either_direction_is_reported(record: dict[str, Any]) -> None:
    bucket = {
        "kind": "shaper", "burst_bytes": 4_000_000, "rate_before_bps": 60e6, "sustained_bps": 12e6,
        "switch_ns": 1_700_000_000_000_000_000, "refill_bps": None, "confidence": 0.9,
    }  # fmt: skip
    record["server_to_client"]["token_bucket"] = bucket
    text = shown(record)
    assert cells(text, "kind")[-1].strip() == "shaper"
    assert cells(text, "sustained")[-1].strip() == "12.0 Mbit/s"
    assert cells(text, "refill")[-1].strip() == ABSENT


def test_the_verdict_comes_first_and_the_limits_with_what_they_cost(record: dict[str, Any]) -> None:
    record["verdict"] = {
        "direction": "client_to_server",
        "factor": "receiver_window",
        "share": 0.9,
        "runner_up": "slow_start",
        "confidence": 0.8,
        "sentence": "The window was small.",
        "evidence": [
            {"text": "the window", "frames": [3, 9], "times_ns": [5, 6], "display_filter": "frame.number in {3, 9}"}
        ],
        "what_if": [
            {"change": "twice the window", "goodput_bps": 2e6, "low_bps": 1.5e6, "high_bps": 2.5e6, "now_bps": 1.2e6}
        ],
        "undetermined_between": [],
    }
    limit = {"factor": "receiver_window", "time_s": 3.0, "fraction": 0.75, "lost_bytes": 5_000_000}
    setup = {**limit, "factor": "setup", "time_s": 1.0, "lost_bytes": None}
    record["client_to_server"] |= {"limits": [limit, setup], "unique_payload_bytes": 600_000}
    lines = shown(record).splitlines()
    why = lines.index("  why: The window was small.")
    assert lines[why + 1] == "  confidence 80.0 %, runner-up slow start"
    assert lines[why + 2 : why + 4] == ["  evidence: the window", "    frame.number in {3, 9}"]
    assert "from the first packet to the last data" in lines[why + 4]
    interval = "between 1.50 Mbit/s and 2.50 Mbit/s"
    assert lines[why + 5] == f"    with twice the window: 2.00 Mbit/s ({interval}) instead of 1.20 Mbit/s"
    reported = lines.index("what limited it, client → server:")
    assert lines[reported + 1].split() == ["receiver", "window", "3.00", "s", "75.0", "%,", "shortfall", "5.00", "MB"]
    assert lines[reported + 2].split()[-2:] == ["75.0", "%"]


def test_a_connection_s_time_begins_with_the_name_that_it_waited_for() -> None:
    lookup = {"name": "web.test", "type": "A+AAAA", "resolver": "10.0.0.53", "waited_s": 5.02, "tries": 2}
    account = [
        {"owner": "path", "kind": "setup", "time_s": 0.008, "saves_s": 0.008},
        {"owner": "server_application", "kind": "server_wait", "time_s": 0.25, "saves_s": 0.25},
        {"owner": "unknown", "kind": "unknown", "time_s": 0.0, "saves_s": None},
    ]
    record = {"lookup": 1, "account": account}
    assert list(account_lines(record, [{}, lookup])) == [
        "  before it: 5.02 s for the name web.test (A+AAAA) of 10.0.0.53, 2 tries",
        "  its time: 8.00 ms handshake (path), 250 ms server wait (server application)",
    ]
    assert list(account_lines({"lookup": 7, "account": None}, [lookup])) == []
    assert list(account_lines({"lookup": 0, "account": []}, [lookup | {"waited_s": None}])) == []
