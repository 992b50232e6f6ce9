"""The strip above a report of captures: causes of all connections, when they were, and how any of them is drawn."""

import struct
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.pages import Visit, data_of
from tests.analyze.reports import report_of
from vmtrace.analyze.charts.packet_series import of_connections
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.reports.capture import overview
from vmtrace.analyze.trace import Options, Trace, read

MANY = 120


@pytest.fixture
def many(new_capture: Any, transfer_into: Any, tmp_path: Path) -> Trace:
    capture = new_capture()
    for number in range(MANY):
        transfer_into(capture, start_s=float(number), port=40_000 + number, segments=12 if number % 2 else 4, lost=())
    return read(capture.write(tmp_path / "many.pcap"))


def test_shares_are_of_all_connections_by_number_and_by_bytes(many: Trace) -> None:
    by_number, by_bytes = overview.causes(many)
    assert sum(part.share for part in by_number.parts) == pytest.approx(1)
    assert {part.name: part.text for part in by_number.parts}["not judged"] == "50.0 %, 60 connections"
    assert by_bytes.parts[0].name != "not judged", "the larger half has most bytes"


def test_one_connection_alone_needs_no_overview(transfer: Any, tmp_path: Path) -> None:
    trace = read(transfer.bytes())
    assert overview.causes(trace) == ()
    page = report_of(trace, tmp_path / "r.html", [1])
    assert 'id="overview"' not in page
    assert data_of(page)["timeline"] is None


def test_an_open_verdict_counts_as_undecided() -> None:
    assert overview.cause_of(None, None) == "not judged"
    assert overview.cause_of("slow_start", 0.3) == "undecided"
    assert overview.cause_of("slow_start", 0.9) == "slow_start"


def test_the_timeline_begins_with_the_first_connection(many: Trace) -> None:
    found = overview.timeline([many.row(index) for index in range(len(many))], {})
    assert found is not None
    assert min(found["start_s"]) == 0
    assert max(found["start_s"]) == pytest.approx(MANY - 1)
    assert set(found["cause"]) <= set(found["colours"])


def test_flows_and_lookups_have_lines_beside_the_connections() -> None:
    rows = [{"id": 1, "server": "10.0.0.2:443", "server_name": "x.example", "start_ns": 3 * 10**9, "duration_s": 1.0}]
    flow = {"application": None, "protocol": "udp", "server": "10.0.0.3:9", "start_ns": 4 * 10**9, "duration_s": 2.0}
    asked = {"type": "A", "name": "x.example", "asked_ns": 2 * 10**9, "last_asked_ns": 5 * 10**9, "answered_ns": None}
    found = overview.timeline(rows, {"flows": [flow], "lookups": [asked]})
    assert found is not None
    assert found["kind"] == ["connection", "flow", "lookup"]
    assert found["label"] == ["1: x.example", "udp: 10.0.0.3:9", "A x.example"]
    assert found["start_s"] == [1, 2, 0]
    assert found["duration_s"] == [1, 2, 3], "a lookup without a reply lasts to its last query"
    assert overview.timeline(rows, {}) is None, "one line is no waterfall"


def test_the_waterfall_names_a_lookup_under_the_mouse(
    browser: Any, new_capture: Any, transfer_into: Any, tmp_path: Path
) -> None:
    capture = new_capture()
    for answered, time_s in ((False, 0.0), (True, 0.5)):
        ends = ("10.0.0.1", "10.0.0.53") if not answered else ("10.0.0.53", "10.0.0.1")
        question = b"\x01x\x07example\0" + bytes([0, 1, 0, 1])
        head = struct.pack(">6H", 9, 0x8180 if answered else 0x0100, 1, int(answered), 0, 0)
        answer = b"\xc0\x0c" + struct.pack(">HHIH4B", 1, 1, 60, 4, 10, 0, 0, 2) if answered else b""
        content = head + question + answer
        ports = (53, 40_000) if answered else (40_000, 53)
        capture.ipv4(time_s, *ends, 17, struct.pack(">4H", *ports, 8 + len(content), 0) + content)
    transfer_into(capture, start_s=0.5)
    trace = read(capture.write(tmp_path / "x.pcap"))
    data = data_of(report_of(trace, tmp_path / "r.html", [1]))
    assert data["timeline"]["label"] == ["1: x.example", "A x.example"], "the flow of DNS is the lookup"
    visit = Visit(browser, tmp_path / "r.html")
    box = visit.page.locator("#timeline canvas").bounding_box()
    visit.page.mouse.move(box["x"] + 300, box["y"] + 3)
    assert visit.page.locator("#timeline-reading").inner_text() == "A x.example, lookup, 0 s + 500 ms"
    assert visit.page.locator("#timeline-note").inner_text().endswith("hollow: lookups")
    with visit.page.expect_download() as download:
        visit.page.locator("#timeline .save button", has_text="CSV").click()
    assert Path(download.value.path()).read_text().splitlines()[:2] == [
        "kind,label,start_s,duration_s,limited_by", "lookup,A x.example,0,0.5,",
    ]  # fmt: skip
    assert visit.complaints == []


def test_several_files_are_a_column_and_columns_that_say_nothing_are_none(transfer: Any, tmp_path: Path) -> None:
    paths = [transfer.write(tmp_path / name) for name in ("a.pcap", "b.pcap")]
    data = data_of(report_of(read(*paths, options=Options(grouping=Grouping.SEPARATE)), tmp_path / "r.html", [1]))
    titles = [field["title"] for field in data["fields"]]
    assert "TLS" not in titles
    assert "server name" not in titles
    assert [row["cells"][titles.index("file")] for row in data["rows"]] == ["a.pcap", "b.pcap"]
    alone = data_of(report_of(read(paths[0]), tmp_path / "r.html", [1]))
    assert "file" not in [field["title"] for field in alone["fields"]]


def test_any_row_is_drawn_or_names_the_command_that_draws_it(browser: Any, many: Trace, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    report_of(many, path, [2])
    visit = Visit(browser, path)
    rows = visit.page.locator("#connections tbody tr")
    assert rows.count() == 30
    assert visit.page.locator("#connections-bar output").inner_text() == f"1 to 30 of {MANY}"
    visit.page.get_by_label("more rows").click()
    assert visit.page.locator("#connections-bar output").inner_text() == f"31 to 60 of {MANY}"
    assert visit.page.locator("#not-drawn").is_hidden()
    chosen = rows.first.locator("td").first.inner_text()
    rows.first.click()
    assert f"--report report.html --connection {chosen}" in visit.page.locator("#not-drawn").inner_text()
    assert str(many.paths[0]) in visit.page.locator("#not-drawn").inner_text()
    visit.page.locator("#search").fill("40001")
    rows.first.click()
    assert visit.page.locator("#not-drawn").is_hidden()
    assert visit.complaints == []


def test_heads_stay_in_sight_and_the_timeline_leads_to_a_connection(browser: Any, many: Trace, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    report_of(many, path, [1])
    visit = Visit(browser, path)
    position = visit.page.locator("#connections th").first.evaluate("(head) => getComputedStyle(head).position")
    assert position == "sticky"
    canvas = visit.page.locator("#timeline canvas")
    box = canvas.bounding_box()
    visit.page.mouse.move(box["x"] + 20, box["y"] + 0.5)
    assert visit.page.locator("#timeline-reading").inner_text().startswith("1: 10.0.0.1:40000 - 10.0.0.2:5001")
    canvas.click(position={"x": 20, "y": 100})
    assert "--connection" in visit.page.locator("#not-drawn").inner_text()
    assert visit.complaints == []


def test_a_fin_does_not_change_what_is_in_flight(new_capture: Any) -> None:
    client, server = ("10.0.0.1", 4000), ("10.0.0.2", 80)
    fin, syn, ack = 1, 2, 16
    capture = new_capture()
    capture.tcp(0.00, client, server, syn, 100, options=b"\x02\x04\x05\xb4")
    capture.tcp(0.02, server, client, syn | ack, 500, 101)
    capture.tcp(0.02, client, server, ack, 101, 501)
    for number in range(3):
        capture.tcp(0.03 + number / 1000, client, server, ack, 101 + 1000 * number, 501, bytes(1000))
    capture.tcp(0.034, client, server, fin | ack, 3101, 501)
    capture.tcp(0.055, server, client, ack, 501, 3102)
    (series,) = of_connections(read(capture.bytes()), [1])
    flight = dict(zip(series.flight_bytes.time_s.round(3).tolist(), series.flight_bytes.value.tolist(), strict=True))
    assert 0.034 not in flight, "the FIN of the data's sender is about the other direction"
    assert flight[0.032] == 3000
    assert flight[0.055] == 0
