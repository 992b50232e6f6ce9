"""The table for people: what fits, what is told first, and that hostile names cannot steer a terminal."""

import re
from typing import Any

import pytest

from vmtrace.analyze.tables.human_table import (
    COLUMNS,
    connection_cells,
    fitting,
    inputs_lines,
    main_direction,
    summary_html,
    summary_text,
    trouble,
)
from vmtrace.analyze.trace import read
from vmtrace.analyze.words.units import ABSENT


def test_the_table_tells_the_numbers(two_transfers: Any) -> None:
    text = summary_text(read(two_transfers.bytes()), limit=20, width=100)
    lines = text.splitlines()
    head, at = lines[0], next(number for number, line in enumerate(lines) if line.startswith("id "))
    titles, first, second = lines[at : at + 3]
    assert head == "<bytes>: pcap, Ethernet, 134 packets (134 TCP), 2023-11-14 22:13:20.000 UTC + 10.2 s"
    assert titles.split() == [
        "id",
        "client",
        "server",
        "bytes",
        "time",
        "goodput",
        "why",
        "RTT",
        "min",
        "retrans",
    ]
    assert first.split()[:5] == ["1", "10.0.0.1:40000", "→", "10.0.0.2:5001", "56.8"]
    assert second.split()[0] == "2"


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_table_fits_the_width(two_transfers: Any, width: int) -> None:
    text = summary_text(read(two_transfers.bytes()), limit=20, width=width)
    table = text.split("\n\n", 1)[1]
    assert max(map(len, table.splitlines())) <= width
    assert "10.0.0.1:40000" in table


def test_more_connections_than_rows_are_reported(two_transfers: Any) -> None:
    text = summary_text(read(two_transfers.bytes()), limit=1, width=100)
    assert "1 more connection not shown (--limit 2 shows all)" in text
    assert "40001" not in text
    assert "<p>1 smaller connection not shown</p>" in summary_html(read(two_transfers.bytes()), limit=1)


def test_text_and_notebook_say_that_the_reading_was_interrupted(transfer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = read(transfer.bytes())
    said = "interrupted: the numbers cover the part that was read"
    assert said not in summary_html(trace)
    monkeypatch.setattr(type(trace), "interrupted", True)
    assert said in summary_html(trace)
    assert said in summary_text(trace, limit=20, width=100)


def test_damage_and_what_was_not_analysed_is_reported(transfer: Any) -> None:
    transfer.ipv4(3.0, "10.0.0.1", "10.0.0.2", 17, bytes(8))
    text = summary_text(read(transfer.bytes()[:-3]), limit=5, width=100)
    assert "damage: cut short" in text
    whole = summary_text(read(transfer.bytes()), limit=5, width=100)
    assert "not analysed: not tcp 1" in whole


@pytest.mark.parametrize(
    ("capture", "line"),
    [
        ({"dropped_by_kernel": 1_234}, "capture loss: 1,234 packets dropped by the capturing kernel"),
        ({"dropped_by_interface": 5}, "capture loss: 5 packets dropped by the interface"),
        ({"unseen_acked_bytes": 2_900}, "capture loss: 2.90 kB were acknowledged but are not in the capture"),
        ({"duplicates": 1}, "1 packet captured twice (left out of the analysis)"),
        (
            {"one_direction_connections": 2, "unseen_acked_bytes": None},
            "only one direction of 2 connections is in the capture: the other takes another path",
        ),
        ({"clock_offset_s": 0.3}, "two capture points, the other one's clock 300 ms ahead (left out)"),
        (
            {"clock_offset_s": -7200.0, "copies_may_be_missed": True},
            (
                "two capture points, the other one's clock 2h00m behind (left out);"
                " some copies are too far apart to be found"
            ),
        ),
        ({"clock_steps": 2}, "2 steps of the capture's clock"),
        ({"lag_s": 0.02, "lag_removed": True}, "one side was recorded 20.0 ms late (taken away)"),
        (
            {"lag_s": 0.02, "lag_removed": False},
            (
                "one side was recorded 20.0 ms late: times and retransmissions are wrong; save the capture as a file,"
                " which can be read twice"
            ),
        ),
    ],
)
def test_what_was_wrong_with_a_capture_is_reported(capture: dict[str, Any], line: str) -> None:
    harmless = {"dropped_by_kernel": None, "dropped_by_interface": 0, "unseen_acked_bytes": 0, "lag_s": None}
    assert list(trouble({"capture": harmless})) == []
    assert list(trouble({"capture": harmless | capture})) == [line]


def test_records_out_of_time_order_are_shown() -> None:
    disorder: dict[str, Any] = {"records": 0, "largest_step_s": None, "left": 0}
    assert list(trouble({"out_of_time_order": disorder})) == []
    disorder = {"records": 1_160, "largest_step_s": 0.00025, "left": 0}
    assert list(trouble({"out_of_time_order": disorder})) == [
        "1,160 records stored out of time order (put in order), by up to 250 µs"
    ]
    assert list(trouble({"out_of_time_order": disorder | {"left": 7}})) == [
        "1,160 records stored out of time order, by up to 250 µs; 7 came too late to be put in order"
    ]


def test_captures_appended_in_one_file_are_shown() -> None:
    disorder = {"records": 0, "left": 0, "largest_step_s": None}
    assert list(trouble({"out_of_time_order": disorder | {"appended": 2}})) == [
        "3 captures appended in one file, whose times overlap (put in order of time)"
    ]
    (left,) = trouble({"out_of_time_order": disorder | {"appended_left": 1}})
    assert left.startswith("2 captures appended, whose times overlap, are read one behind the other: ")


def test_damage_is_shown_by_its_first_place() -> None:
    first = {"what": "cut short", "offset": 12_345, "skipped_bytes": 40}
    assert list(trouble({"damage": [first]})) == ["damage: cut short at byte 12,345; 40 B skipped"]
    assert list(trouble({"damage": [first, first]})) == [
        "damage: cut short at byte 12,345 (first of 2 places); 80 B skipped"
    ]
    assert list(trouble({"damage": [first | {"skipped_bytes": 0}]})) == [
        "damage: cut short at byte 12,345; nothing skipped"
    ]


def test_all_connections_shown_are_not_reported_as_left_out(two_transfers: Any) -> None:
    trace = read(two_transfers.bytes())
    assert "not shown" not in summary_text(trace, limit=2, width=100)
    assert "not shown" not in summary_html(trace, limit=2)


def test_what_could_not_be_measured_is_reported_with_its_reason(transfer: Any) -> None:
    del transfer.records[:3]
    text = " ".join(summary_text(read(transfer.bytes()), limit=5, width=100).split())
    assert "Not measured: handshake incomplete in 1 of 1" in text
    assert "window scale unknown (its handshake was not captured) in 1 of 1" in text


def test_many_inputs_are_summed_up_but_for_those_with_trouble() -> None:
    fine = {"path": "ok", "format": "pcap", "packets": 10, "tcp_packets": 9, "damage": [], "capture": {}}
    fine |= {"compression": None, "link_types": [], "undecoded_packets": {}}
    lines = [line for line, _ in inputs_lines([fine] * 20 + [fine | {"path": "bad", "format": None}])]
    assert lines == ["21 captures: 210 packets (189 TCP)", "bad: could not be read"]


def test_packets_without_a_time_are_reported() -> None:
    header = {"path": "x", "format": "pcapng", "link_types": ["EN10MB"], "packets": 46, "tcp_packets": 46}
    for number, reported in (
        (46, "no packet has a plausible time"),
        (2, "2 packets without a plausible time"),
    ):
        lines = [line for line, _ in inputs_lines([header | {"capture": {"packets_without_time": number}}])]
        assert lines[1:] == [f"  {reported}"]


def test_names_cannot_steer_the_terminal_or_the_notebook() -> None:
    header = {
        "path": "\x1b[31m<script>.pcap",
        "format": "pcap",
        "compression": None,
        "link_types": ["EN10MB"],
        "packets": 1,
        "tcp_packets": 1,
        "damage": [{"offset": 0, "skipped_bytes": 1, "what": "\x1b[2J"}],
    }
    assert all("\x1b" not in line for line, _ in inputs_lines([header]))


def test_a_notebook_gets_escaped_html(transfer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = read(transfer.bytes())
    monkeypatch.setattr(type(trace), "paths", ["<script>alert(1)</script>"])
    html = summary_html(trace)
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_the_main_direction_carries_most_payload() -> None:
    assert main_direction({"client_to_server_unique_payload_bytes": 5}) == "client_to_server"
    assert main_direction({"server_to_client_unique_payload_bytes": 5}) == "server_to_client"
    assert main_direction({}) == "client_to_server", "who opened it"


def test_repeats_do_not_turn_the_main_direction() -> None:
    repeated = {"client_to_server_payload_bytes": 8, "client_to_server_unique_payload_bytes": 5}
    whole = {"server_to_client_payload_bytes": 6, "server_to_client_unique_payload_bytes": 6}
    assert main_direction(repeated | whole) == "server_to_client"


def test_the_verdict_on_a_connection_is_a_sentence(transfer: Any) -> None:
    trace = read(transfer.bytes())
    sentence = next(line for line in summary_text(trace, limit=20, width=400).splitlines() if line.startswith("1. "))
    assert "Connection 1: The sending application did not supply data fast enough" in sentence
    confidence = trace.json()["connections"][0]["verdict"]["confidence"]
    assert confidence > 0.8
    assert sentence.endswith(f"Confidence {100 * confidence:.1f} %.")


def test_several_captures_have_a_line_and_a_column_each(transfer_file: Any, two_transfers: Any, tmp_path: Any) -> None:
    two_transfers.write(tmp_path / "two.pcap")
    text = summary_text(read(str(transfer_file), str(tmp_path / "two.pcap")), limit=20, width=120)
    lines = text.splitlines()
    assert lines[0].startswith("2 captures: ")
    assert sum(": pcap, Ethernet, " in line for line in lines) == 2
    head = next(line for line in lines if line.startswith("id "))
    assert head.split()[:3] == ["id", "file", "client"]
    assert {line.split()[1] for line in lines if re.match(r" *\d+  ", line)} == {transfer_file.name, "two.pcap"}


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_cause_stays_on_a_narrow_terminal(transfer: Any, width: int) -> None:
    text = summary_text(read(transfer.bytes()), limit=1, width=width)
    lines = text.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("1 10."))
    card = lines[at : lines.index("", at) if "" in lines[at:] else None]
    assert "why: application" in " ".join(card)
    assert max(map(len, card)) <= width


def test_findings_wrap_within_the_width_and_leave_no_blank_at_a_line_s_end(transfer: Any) -> None:
    lines = summary_text(read(transfer.bytes()), limit=1, width=60).splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("1. "))
    found = lines[first : lines.index("", first)]
    assert len(found) > 1
    assert [line for line in found if len(line) > 60 or line != line.rstrip()] == []


def test_every_dash_in_the_table_is_explained(transfer: Any, two_transfers: Any) -> None:
    del transfer.records[:3]
    for capture in (transfer.bytes(), two_transfers.bytes()):
        lines = summary_text(read(capture), limit=5, width=200).splitlines()
        titles = next(line for line in lines if line.startswith("id "))
        rows = [line for line in lines if "10.0.0.2:5001" in line]
        meant = next((line for line in lines if line.startswith("- means: ")), "")
        starts = {one.title: titles.index(f" {one.title} ") for one in COLUMNS if f" {one.title} " in titles}
        dashed = {title for title, at in starts.items() for row in rows if row[at : at + len(title) + 2].strip() == "-"}
        assert {title for title in dashed if f"{title}: " not in meant} == set()


def test_a_dash_is_explained_where_there_is_one(transfer: Any) -> None:
    del transfer.records[3:]
    text = summary_text(read(transfer.bytes()), limit=5, width=100)
    assert "- means: goodput: no data, none of it acknowledged, or all in one flight;" in text.replace("\n", " ")


def test_a_verdict_that_is_open_has_a_question_mark() -> None:
    why = next(column for column in COLUMNS if column.title == "why")
    row = {"verdict_factor": "slow_start", "verdict_confidence": 0.59}
    assert why.shows(row) == "slow start?"
    assert why.shows(row | {"verdict_confidence": 0.6}) == "slow start"
    assert why.shows({"verdict_factor": None}) == ABSENT


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_address_is_cut_and_no_column_that_must_be_there_is_missing(width: int) -> None:
    texts = {"id": "7", "bytes": "1.23 GB", "": "→"}
    cells = {one: [texts.get(one.title, "[2001:db8:85a3:1::8a2e:370:7334]:40000")] for one in COLUMNS[:5]}
    fit = fitting(cells, width)
    assert fit == (cells if width >= 2 + 2 + 38 + 2 + 1 + 2 + 38 + 2 + 7 else {}), "all of them, or cards"


def test_a_detail_gives_way_unless_the_order_is_by_it(two_transfers: Any) -> None:
    trace = read(two_transfers.bytes())
    rows = [trace.named_row(index) for index in (0, 1)]
    shown = [[one.title for one in connection_cells(trace, rows, 92, sort)] for sort in ("time", "retrans")]
    assert ["retrans" in titles for titles in shown] == [False, True]
    assert {"goodput", "time", "why", "RTT min"} <= set(shown[0])
