"""The report: one file that needs nothing else, stays small, and cannot be made to run what a capture holds."""

import json
import re
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analyze.pages import data_of
from tests.analyze.reports import HOSTILE, hostile_trace, report_of
from vmtrace.analyze.charts.packet_series import Series, of_connections
from vmtrace.analyze.reports.capture import connection, lanes
from vmtrace.analyze.reports.capture.write import write_report
from vmtrace.analyze.tables import provenance
from vmtrace.analyze.trace import Options, Trace, read


@pytest.fixture
def trace(two_transfers: Any, tmp_path: Path) -> Trace:
    return read(two_transfers.write(tmp_path / "x.pcap"))


@pytest.fixture
def hostile(two_transfers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    return hostile_trace(two_transfers, tmp_path / "x.pcap", monkeypatch)


def test_the_page_holds_every_connection_and_the_plots_asked_for(trace: Trace, tmp_path: Path) -> None:
    data = data_of(report_of(trace, tmp_path / "r.html", [2]))
    assert [row["id"] for row in data["rows"]] == [1, 2]
    (plot,) = data["plots"]
    assert plot["title"] == "connection 2: 10.0.0.1:40001 → 10.0.0.2:5001"
    assert {series["lane"] for series in plot["series"]} == {"throughput", "sequence", "rtt", "flight", "spacing"}
    assert sum(part["share"] for part in plot["ledger"]) == pytest.approx(1)
    assert ["retransmitted segments", "1 of 11"] in plot["facts"]


def test_congestion_marks_are_named_where_both_sides_use_them(trace: Trace, tmp_path: Path) -> None:
    (series,) = of_connections(trace, [2])
    record = json.loads(json.dumps(series.record))
    names = [name for name, _ in connection.facts(replace(series, record=record))]
    assert "ECN congestion marks" not in names
    record[series.direction]["ecn"] = {"feedback": "classic", "congestion_events": 1}
    assert ["ECN congestion marks", "1 time"] in connection.facts(replace(series, record=record))


def test_the_verdict_is_read_without_scripts(trace: Trace, tmp_path: Path) -> None:
    page = report_of(trace, tmp_path / "r.html", [1])
    without_scripts = page[page.index("<noscript>") : page.index("</noscript>")]
    assert escape(trace.records([1])[0]["verdict"]["sentence"]) in without_scripts


def test_the_page_asks_nothing_of_a_network(trace: Trace, tmp_path: Path) -> None:
    page = report_of(trace, tmp_path / "r.html", [1])
    own = page[: page.index('<script type="application/json"')]
    assert "default-src 'none'" in own
    assert re.findall(r"https?://", own) == []
    assert re.findall(r"<(?:script|img|iframe|object)[^>]*\ssrc=", own) == []


def test_what_a_capture_holds_cannot_become_markup(hostile: Trace, tmp_path: Path) -> None:
    page = report_of(hostile, tmp_path / "r.html", [1])
    assert HOSTILE not in page
    assert "window.hacked=1</script>" not in page
    assert HOSTILE in data_of(page)["rows"][0]["cells"], "it is shown as it is"
    assert page.count("<script") - page[page.index('id="data"') :].count("<script") == 1


def test_the_size_does_not_grow_with_the_capture(transfer: Any) -> None:
    trace = read(transfer.bytes())
    (series,) = of_connections(trace, [1])
    generator = np.random.default_rng(4)

    def huge() -> Series:
        return Series(np.sort(generator.random(300_000)) * 3600, generator.random(300_000) * 1e9)

    worst = replace(
        series,
        sent={kind: huge() for kind in series.sent},
        acknowledged=huge(), allowed=huge(), rtt_s=huge(), recovery_rtt_s=huge(), spacing_s=huge(),
        window_bytes=huge(), flight_bytes=huge(), delivered_bytes=huge(),
    )  # fmt: skip
    plot = connection.of_connection(worst)
    assert max(len(one["y"]) for one in plot["series"] if "y" in one) <= lanes.POINT_LIMIT
    assert len(json.dumps(plot, separators=(",", ":"))) < 5_000_000
    assert "300,000" not in plot["notes"][0], "packets are counted, not points"
    assert "points a series" in plot["notes"][0]
    shared = connection.of_connection(worst, connections=3)
    assert 3 * len(json.dumps(shared)) < 1.1 * len(json.dumps(plot)) + 100_000, "connections share a page's points"


def test_an_anonymous_report_names_nobody(two_transfers: Any, tmp_path: Path) -> None:
    path = two_transfers.write(tmp_path / "x.pcap")
    trace = read(path, options=Options(anonymize=True))
    write_report(trace, of_connections(trace, [1]), provenance.of(trace, anonymous=True), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "10.0.0." not in page[: page.index("<script>")]
    assert str(tmp_path) not in page


def test_a_capture_without_connections_has_a_report(new_capture: Any, tmp_path: Path) -> None:
    data = data_of(report_of(read(new_capture().bytes()), tmp_path / "r.html", []))
    assert data["rows"] == data["plots"] == []


def test_files_of_one_name_are_told_apart_by_their_folders(transfer: Any, tmp_path: Path) -> None:
    middle = len(transfer.records) // 2
    paths = [tmp_path / folder / "x.pcap" for folder in ("a", "b")]
    for path, records in zip(paths, (transfer.records[:middle], transfer.records[middle:]), strict=True):
        path.parent.mkdir()
        path.write_bytes(replace(transfer, records=records).bytes())
    for options, names in ((Options(), set(map(str, paths))), (Options(anonymize=True), {"x.pcap (1)", "x.pcap (2)"})):
        page = report_of(read(*paths, options=options), tmp_path / "r.html", [1])
        assert set(data_of(page)["plots"][0]["packets"]["file"]) == names


def test_of_a_lone_syn_no_pauses_are_reported(new_capture: Any, tmp_path: Path) -> None:
    capture = new_capture()
    capture.tcp(0.0, ("10.0.0.1", 40_000), ("10.0.0.2", 80), 2, 1000)
    (plot,) = data_of(report_of(read(capture.bytes()), tmp_path / "r.html", [1]))["plots"]
    assert dict(plot["facts"])["unusually long pauses"] == "-"
    assert plot["title"] == "connection 1: 10.0.0.1:40000 → 10.0.0.2:80"
