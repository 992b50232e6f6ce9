"""The report: one file that needs nothing else, cannot be made to run what a capture holds, and works in a browser."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analyze import provenance
from analyze.packet_series import of_connections
from analyze.report import plots
from analyze.report.write import write_report
from analyze.trace import Options, Trace, read
from tests.analyze.pages import Visit, data_of

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


def report_of(trace: Trace, path: Path, connections: list[int]) -> str:
    write_report(trace, of_connections(trace, connections), provenance.of(trace, anonymous=False), path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def trace(two_transfers: Any, tmp_path: Path) -> Trace:
    return read(two_transfers.write(tmp_path / "x.pcap"))


@pytest.fixture
def hostile(two_transfers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """A trace whose every text is an attack (a file name cannot hold all of it, a server name can)."""
    trace = read(two_transfers.write(tmp_path / "x.pcap"))
    row, records, header = trace.row, trace.records, trace.header

    def evil_row(index: int) -> dict[str, Any]:
        return row(index) | {"tls_sni": HOSTILE, "client": HOSTILE, "tls_version": HOSTILE}

    def evil_records(connections: Any) -> list[dict[str, Any]]:
        tls = {"version": HOSTILE, "cipher": HOSTILE, "sni": HOSTILE}
        return [record | {"client": HOSTILE, "tls": tls} for record in records(connections)]

    def evil_header() -> dict[str, Any]:
        damage = [{"offset": 1, "skipped_bytes": 1, "what": HOSTILE}]
        (first,) = header()["inputs"]
        return header() | {"inputs": [first | {"path": HOSTILE, "link_types": [HOSTILE], "damage": damage}]}

    monkeypatch.setattr(trace, "row", evil_row)
    monkeypatch.setattr(trace, "records", evil_records)
    monkeypatch.setattr(trace, "header", evil_header)
    monkeypatch.setattr(type(trace), "paths", [HOSTILE])
    return trace


def test_the_page_holds_every_connection_and_the_plots_asked_for(trace: Trace, tmp_path: Path) -> None:
    data = data_of(report_of(trace, tmp_path / "r.html", [2]))
    assert [row["id"] for row in data["rows"]] == [1, 2]
    (plot,) = data["plots"]
    assert plot["title"] == "connection 2: 10.0.0.1:40001 → 10.0.0.2:5001"
    assert {trace["panel"] for trace in plot["traces"]} == set(range(5))
    assert sum(part["share"] for part in plot["ledger"]) == pytest.approx(1)
    assert ["retransmitted segments", "1 of 11"] in plot["facts"]


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
    assert data_of(page)["rows"][0]["name"] == HOSTILE, "it is shown as it is"
    assert page.count("<script") - page[page.index('id="data"') :].count("<script") == 1


def test_the_size_does_not_grow_with_the_capture(transfer_into: Any, new_capture: Any, tmp_path: Path) -> None:
    long = transfer_into(new_capture(), segments=20_000, lost=())
    trace = read(long.bytes())
    (series,) = of_connections(trace, [1])
    plot = plots.of_connection(series)
    assert len(series.sent["data"]) == 20_000
    assert max(len(one["x"]) for one in plot["traces"]) <= plots.POINT_LIMIT + 4
    assert len(json.dumps(plot)) < 1_000_000


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


class ReportVisit(Visit):
    """A visit to the report of captures."""

    def rows(self) -> list[str]:
        texts: list[str] = self.page.locator("#connections tbody tr").all_inner_texts()
        return texts


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_plots_without_complaint_or_request(
    browser: Any, trace: Trace, tmp_path: Path, scheme: str
) -> None:
    path = tmp_path / "r.html"
    report_of(trace, path, [1, 2])
    visit = ReportVisit(browser, path, scheme)
    visit.page.locator("#plots .point").first.wait_for()
    assert visit.page.locator("#plots .cartesianlayer > .subplot").count() == 5
    assert visit.page.locator("#plots .point").count() > 50
    assert visit.page.locator("#ledger div").count() > 3
    background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_browser_searches_sorts_and_chooses(browser: Any, trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    report_of(trace, path, [1, 2])
    visit = ReportVisit(browser, path)
    assert ["40000" in row for row in visit.rows()] == [True, False]
    visit.page.get_by_role("button", name="time").click()
    visit.page.get_by_role("button", name="time").click()
    assert ["40000" in row for row in visit.rows()] == [False, True], "shortest first"
    visit.page.locator("#search").fill("40001")
    assert len(visit.rows()) == 1
    visit.page.locator("#connections tbody tr").click()
    assert visit.page.locator("#chosen").input_value() == "1"
    assert "2023-11-14 22:13:30" in visit.page.locator("#facts").inner_text()
    assert visit.complaints == []


def test_zooming_in_time_moves_every_panel(browser: Any, trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    report_of(trace, path, [1])
    visit = ReportVisit(browser, path)
    visit.page.evaluate("Plotly.relayout('plots', {'xaxis.range': [0.2, 0.4]})")
    axes = visit.page.evaluate("document.getElementById('plots').data.map((trace) => trace.xaxis)")
    assert set(axes) == {"x"}
    assert visit.page.evaluate("document.getElementById('plots').layout.xaxis.range") == [0.2, 0.4]


def test_a_browser_runs_nothing_that_a_capture_holds(browser: Any, hostile: Trace, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    report_of(hostile, path, [1])
    visit = ReportVisit(browser, path)
    assert visit.page.evaluate("typeof window.hacked") == "undefined"
    assert visit.page.locator("img").count() == 0
    assert HOSTILE in visit.page.locator("#connections").inner_text()
    assert visit.complaints == []
