"""The report in a browser: drawn, zoomed, read, picked from, sorted and printed, in light and dark, asking nobody."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analyze.pages import Visit
from tests.analyze.reports import HOSTILE, hostile_trace, report_of
from vmtrace.analyze.charts.packet_series import Series, of_connections
from vmtrace.analyze.reports.capture.write import write_report
from vmtrace.analyze.tables import provenance
from vmtrace.analyze.trace import Trace, read
from vmtrace.analyze.words.palette import FACTORS, ROLES, RUNS, TRANSFERS

LANES = ["factors", "events", "throughput", "sequence", "rtt", "flight", "spacing", "axis"]
SAMPLES = Path(__file__).parents[2] / "samples"
LONGEST_ZOOM_MS = 1500
"""Measured: 10 to 60 ms on two cores, 50 to 130 ms where others keep them busy."""


@pytest.fixture
def trace(two_transfers: Any, tmp_path: Path) -> Trace:
    return read(two_transfers.write(tmp_path / "x.pcap"))


class ReportVisit(Visit):
    """A visit to the report of captures."""

    def rows(self) -> list[str]:
        texts: list[str] = self.page.locator("#connections tbody tr").all_inner_texts()
        return texts

    def colours(self, lane: str) -> int:
        """How many colours a lane's canvas shows."""
        counted: int = self.page.evaluate(
            """(lane) => {
              const canvas = document.querySelector(`[data-lane=${lane}] canvas`);
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              return new Set(new Uint32Array(data.buffer)).size;
            }""",
            lane,
        )
        return counted

    def shown(self) -> set[tuple[float, float]]:
        """The stretches of time that lanes show."""
        self.drawn()
        found = self.page.evaluate(
            "[...document.querySelectorAll('.lane')].map(({ dataset }) => [Number(dataset.from), Number(dataset.to)])"
        )
        return {(start, end) for start, end in found}

    def place(self, lane: str, time_s: float) -> tuple[float, float]:
        """Where a moment is on a lane, in pixels of the window."""
        canvas = self.page.locator(f"[data-lane={lane}] canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        return box["x"] + self.page.evaluate("(time) => page.lanes.xOf(time)", time_s), box["y"] + box["height"] / 2

    def background(self) -> str:
        found: str = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    def outside(self) -> list[str]:
        """What was asked for that is not in the file."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]


def visited(browser: Any, trace: Trace, path: Path, connections: list[int], scheme: str = "light") -> ReportVisit:
    report_of(trace, path, connections)
    return ReportVisit(browser, path, scheme)


def retransmission_s(visit: ReportVisit) -> float:
    found: float = visit.page.evaluate("page.data.plots[0].events.find((one) => one.kind !== 'gap').time_s")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_shows_the_verdict_and_every_lane_without_complaint_or_request(
    browser: Any, trace: Trace, tmp_path: Path, scheme: str
) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1, 2], scheme)
    assert [lane.get_attribute("data-lane") for lane in visit.page.locator(".lane").all()] == LANES
    for lane in LANES:
        assert visit.colours(lane) > 2, f"{lane} is drawn"
    sentence = visit.page.locator("#verdict .sentence")
    assert sentence.inner_text() == trace.records([1])[0]["verdict"]["sentence"]
    assert sentence.bounding_box()["y"] < visit.page.locator("#lanes").bounding_box()["y"], "the verdict is first"
    assert visit.page.locator("#factors li").count() >= 2
    assert visit.page.locator("#ledger i").count() > 3
    assert (visit.background() == "rgb(255, 255, 255)") == (scheme == "light")
    assert visit.complaints == []
    assert visit.outside() == []


def test_the_address_leads_to_what_is_shown(browser: Any, trace: Trace, tmp_path: Path) -> None:
    report_of(trace, tmp_path / "r.html", [1, 2])
    visit = ReportVisit(browser, tmp_path / "r.html")
    assert "#" not in visit.page.url
    visit.page.evaluate("location.hash = '#t=0.05-0.1&c=2'")
    visit.page.wait_for_function("page.data.plots[document.getElementById('chosen').value].id === 2")
    ((start, end),) = visit.shown()
    assert [start, end] == pytest.approx([0.05, 0.1])
    visit.page.locator("#later").click()
    visit.drawn()
    assert visit.page.url.endswith("#t=0.075-0.125&c=2")
    visit.page.locator("#whole").click()
    assert visit.page.url.endswith("#c=2")
    visit.page.evaluate("location.hash = '#t=nonsense&c=77'")
    visit.page.wait_for_function("page.data.plots[document.getElementById('chosen').value].id === 1")
    assert visit.complaints == []


def test_a_chart_is_saved_as_it_is_shown(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    saved = {}
    for kind in ("PNG", "CSV"):
        with visit.page.expect_download() as download:
            visit.page.locator("[data-lane=rtt] .save button", has_text=kind).click()
        saved[download.value.suggested_filename] = Path(download.value.path()).read_bytes()
    assert set(saved) == {"connection-1-rtt.png", "connection-1-rtt.csv"}
    assert saved["connection-1-rtt.png"].startswith(b"\x89PNG")
    head, *lines = saved["connection-1-rtt.csv"].decode().splitlines()
    assert head == "series,time_s,value_s"
    assert len(lines) >= trace.records([1])[0]["client_to_server"]["rtt"]["samples"] > 0
    assert visit.page.evaluate("page.save.csv(['a'], [['=1+1'], ['x,\"y\"'], [-1.5], [null]])").split("\r\n") == [
        "a", "'=1+1", '"x,""y"""', "-1.5", "", "",
    ]  # fmt: skip
    assert visit.complaints == []


def test_a_zoom_moves_every_lane(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    ((start, end),) = visit.shown()
    assert (start, end) == (0, trace.records([1])[0]["duration_s"])
    left, height = visit.place("rtt", 0.2)
    right, _ = visit.place("rtt", 0.4)
    visit.page.mouse.move(left, height)
    visit.page.mouse.down()
    visit.page.mouse.move(right, height, steps=3)
    visit.page.mouse.up()
    ((start, end),) = visit.shown()
    assert [start, end] == pytest.approx([0.2, 0.4], abs=0.01)
    assert visit.page.locator("#range").inner_text().endswith("of 1.053 s")
    visit.page.locator("#lanes").focus()
    visit.page.keyboard.press("ArrowRight")
    ((moved, _),) = visit.shown()
    assert moved == pytest.approx(0.25, abs=0.02)
    visit.page.keyboard.press("+")
    ((start, end),) = visit.shown()
    assert end - start == pytest.approx(0.1, abs=0.01)
    visit.page.mouse.dblclick(right, height)
    assert visit.shown() == {(0, trace.records([1])[0]["duration_s"])}
    visit.page.locator("#zoom-in").click()
    visit.page.locator("#whole").click()
    assert visit.shown() == {(0, trace.records([1])[0]["duration_s"])}
    assert visit.complaints == []


def test_the_pointer_reads_the_values_of_all_lanes(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    # Round trips of the capture are all 20 ms, and end at most 1 ms from any moment of it that is drawn.
    first_s = visit.page.evaluate("page.data.plots[0].series.find((one) => one.lane === 'rtt').x[10]")
    visit.page.mouse.move(*visit.place("sequence", first_s))
    assert "20 ms" in visit.page.locator("[data-lane=rtt] .lane-head").inner_text()
    assert "kB" in visit.page.locator("[data-lane=flight] .lane-head").inner_text()
    assert visit.page.locator("#moment").inner_text().startswith(f"{first_s:.2f}")
    assert visit.page.locator("[data-lane=rtt] .cursor-line").is_visible()
    visit.page.mouse.move(*visit.place("events", retransmission_s(visit)))
    assert "fast retransmission" in visit.page.locator("[data-lane=events] .lane-head").inner_text()
    visit.page.mouse.move(0, 0)
    assert visit.page.locator("#moment").inner_text() == ""
    visit.page.locator("[data-lane=sequence] button.key", has_text="window edge").click()
    assert visit.page.locator("[data-lane=sequence] button.key[aria-pressed=false]").inner_text() == "window edge"
    note = visit.page.locator("[data-lane=throughput] .note")
    assert note.inner_text().startswith("in bins of ")
    visit.page.locator("[data-lane=throughput] button.key").click()
    assert note.inner_text() == "", "what is hidden is not told of"


def test_a_click_on_a_retransmission_shows_its_packets(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    assert not visit.page.locator("#packets").is_visible()
    visit.page.mouse.click(*visit.place("sequence", retransmission_s(visit)))
    body = visit.page.locator("#packets-body")
    assert "fast retransmission" in body.inner_text()
    assert "First sent in frame" in body.inner_text()
    (current,) = body.locator("tr.current").all_inner_texts()
    assert "retransmission, fast" in current
    frame = current.split("\t")[0]
    assert body.locator("tbody tr").count() == 15
    assert frame in body.locator("code").inner_text().removeprefix("frame.number in {").rstrip("}").split(", ")
    assert visit.page.locator("#events tr.current").count() == 1
    before = visit.page.locator("#packets-title").inner_text()
    visit.page.locator("#event-after").click()
    visit.page.locator("#event-before").click()
    assert visit.page.locator("#packets-title").inner_text() == before
    body.get_by_role("button", name="copy filter").click()
    assert len(visit.shown()) == 1, "the lanes stay together"
    visit.page.locator("#packets-close").click()
    assert not visit.page.locator("#packets").is_visible()
    syn_s = visit.page.evaluate("page.data.plots[0].packets.time_s[1]")
    visit.page.mouse.click(*visit.place("rtt", syn_s))
    assert visit.page.locator("#packets-title").inner_text().startswith("frame 2 at ")
    assert visit.complaints == []


def test_a_click_finds_the_packet_of_its_moment_though_others_passed_in_another_order(
    browser: Any, trace: Trace, tmp_path: Path
) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    packets = visit.page.evaluate("page.data.plots[0].packets")
    late, wanted = len(packets["frame"]) // 2, len(packets["frame"]) * 3 // 4
    visit.page.evaluate("(late) => { page.data.plots[0].packets.time_s[late] = page.data.plots[0].end_s; }", late)
    visit.page.mouse.click(*visit.place("axis", packets["time_s"][wanted]))
    assert visit.page.locator("#packets-title").inner_text().startswith(f"frame {packets['frame'][wanted]} at ")


def test_packets_of_several_files_have_a_filter_for_each(browser: Any, tmp_path: Path) -> None:
    trace = read(*(SAMPLES / f"rotated-{number}.pcap" for number in (1, 2)))
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    packets = visit.page.evaluate("page.data.plots[0].packets")
    time_s = packets["time_s"][packets["file"].index("rotated-2.pcap")]
    visit.page.evaluate("(time) => page.lanes.zoom(time - 0.01, time + 0.01)", time_s)
    visit.drawn()
    visit.page.mouse.click(*visit.place("axis", time_s))
    body = visit.page.locator("#packets-body")
    rows = [text.split("\t") for text in body.locator("tbody tr").all_inner_texts()]
    wanted: dict[str, list[str]] = {}
    for row in rows:
        wanted.setdefault(row[-1], []).append(row[0].replace(",", ""))
    assert set(wanted) == {"rotated-1.pcap", "rotated-2.pcap"}
    reported = [text for text in body.locator("p").all_inner_texts() if "frame.number" in text]
    assert len(reported) == 2
    for (file, frames), text in zip(wanted.items(), reported, strict=True):
        assert file in text
        assert f"frame.number in {{{', '.join(frames)}}}" in text
    assert visit.complaints == []


def test_evidence_leads_to_its_place_in_the_lanes(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    whole = visit.shown()
    link = visit.page.locator("#verdict button.link").last
    link.click()
    assert visit.page.locator("#packets-title").inner_text().startswith(f"frame {link.inner_text()} at ")
    ((start, end),) = visit.shown()
    assert {(start, end)} != whole
    time_s = float(visit.page.locator("#packets-title").inner_text().split(" at ")[1].split()[0])
    assert start <= time_s <= end


def test_events_and_connections_are_sorted_and_searched(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1, 2])
    assert ["40000" in row for row in visit.rows()] == [True, False]
    table = visit.page.locator("#connections")
    table.get_by_role("button", name="time").click()
    table.get_by_role("button", name="time").click()
    assert ["40000" in row for row in visit.rows()] == [False, True], "shortest first"
    visit.page.locator("#search").fill("40001")
    assert len(visit.rows()) == 1
    visit.page.locator("#connections tbody tr").click()
    assert visit.page.locator("#chosen").input_value() == "1"
    assert "2023-11-14 22:13:30" in visit.page.locator("#facts").inner_text()
    visit.page.locator("#chosen").select_option("0")
    visit.page.locator("#events").get_by_role("button", name="time").click()
    times = [float(text.split(" ")[0]) for text in visit.page.locator("#events tbody td:first-child").all_inner_texts()]
    assert times == sorted(times, reverse=True)
    assert visit.complaints == []


def test_light_and_dark_are_chosen_by_a_button(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1], "dark")
    assert visit.background() == "rgb(20, 24, 29)"
    visit.page.locator("#theme").click()
    assert visit.background() == "rgb(255, 255, 255)"
    visit.page.locator("#theme").click()
    assert visit.background() == "rgb(20, 24, 29)"


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_names_of_factors_can_be_read_on_their_colours(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1])
    for factor, look in FACTORS.items():
        ink = luminance(visit.page.evaluate("(colour) => page.marks.inkOn(colour)", look.colour))
        dark, light = sorted((ink, luminance(look.colour)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{factor}: WCAG 2.2 section 1.4.3"


def test_colours_that_differ_by_day_differ_by_night(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1], "dark")
    by_day = sorted({*RUNS, *ROLES.values(), *TRANSFERS.values()})
    by_night = [visit.page.evaluate("(colour) => page.shade(colour)", colour) for colour in by_day]
    assert by_night != by_day
    assert len(set(by_night)) == len(by_day)


def test_paper_is_light_and_sharp_and_has_no_buttons(browser: Any, trace: Trace, tmp_path: Path) -> None:
    visit = visited(browser, trace, tmp_path / "r.html", [1], "dark")
    canvas = visit.page.locator("[data-lane=rtt] canvas")
    on_screen = canvas.get_attribute("width")
    visit.media("print")
    assert canvas.get_attribute("width") == str(3 * 700)
    assert visit.background() == "rgb(255, 255, 255)"
    assert visit.colours("rtt") > 2
    for hidden in ("#bar", "#theme", "#search"):
        assert not visit.page.locator(hidden).is_visible()
    assert visit.page.locator("#verdict .sentence").is_visible()
    visit.media("screen")
    assert canvas.get_attribute("width") == on_screen
    assert visit.background() == "rgb(20, 24, 29)"
    assert visit.page.pdf(format="A4").startswith(b"%PDF")
    assert visit.complaints == []


def test_two_million_packets_stay_fluid(browser: Any, transfer: Any, tmp_path: Path) -> None:
    trace = read(transfer.write(tmp_path / "x.pcap"))
    (series,) = of_connections(trace, [1])
    duration_s = series.record["duration_s"]
    generator = np.random.default_rng(7)
    times = np.sort(generator.random(2_000_000)) * duration_s
    huge = Series(times, generator.random(2_000_000) * 1e6)
    large = replace(
        series, sent=series.sent | {"data": huge}, acknowledged=huge, allowed=huge, rtt_s=huge, spacing_s=huge,
        window_bytes=huge, flight_bytes=huge,
    )  # fmt: skip
    path = tmp_path / "r.html"
    write_report(trace, [large], provenance.of(trace, anonymous=False), path)
    assert path.stat().st_size < 6_000_000
    visit = ReportVisit(browser, path)
    assert "points a series" in visit.page.locator("#notes").inner_text()
    took_ms = visit.page.evaluate(
        """async (end) => {
          const took = [];
          for (const [from, to] of [[0.1, 0.9], [0.2, 0.6], [0.4, 0.5], [0.41, 0.42], [0, 1]]) {
            const began = performance.now();
            page.lanes.zoom(from * end, to * end);
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            took.push(performance.now() - began);
          }
          return took.sort((a, b) => a - b);
        }""",
        duration_s,
    )
    assert took_ms[len(took_ms) // 2] < LONGEST_ZOOM_MS
    assert visit.complaints == []


def test_a_capture_without_connections_is_a_page_without_lanes(browser: Any, new_capture: Any, tmp_path: Path) -> None:
    visit = visited(browser, read(new_capture().bytes()), tmp_path / "r.html", [])
    assert visit.rows() == []
    assert not visit.page.locator("#plotted").is_visible()
    visit.page.locator("#theme").click()
    assert visit.complaints == []


def test_nothing_runs_that_a_capture_holds(
    browser: Any, two_transfers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = hostile_trace(two_transfers, tmp_path / "x.pcap", monkeypatch)
    visit = visited(browser, hostile, tmp_path / "r.html", [1])
    visit.page.locator("#event-after").click()
    assert visit.page.evaluate("typeof window.hacked") == "undefined"
    assert visit.page.locator("img").count() == 0
    assert HOSTILE in visit.page.locator("#connections").inner_text()
    assert HOSTILE in visit.page.locator("#verdict").inner_text()
    assert visit.complaints == []
