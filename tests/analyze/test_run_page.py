"""The page of a run's report: it holds everything, asks nothing of a network, and runs nothing of what it shows."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.pages import Visit, data_of
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import named_apart, read_run
from vmtrace.analyze.reports.run import provenance
from vmtrace.analyze.reports.run.figures import charts
from vmtrace.analyze.reports.run.page.page import page_of as blocks_of
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer, Measuring
from vmtrace.analyze.words.units import share

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>@@data@@"


def measured(made: Any) -> list[MeasuredTransfer]:
    return Measuring(read_run(made.folder)).run()


def page_of(path: Path, *made: Any) -> str:
    found = named_apart([read_run(one.folder) for one in made])
    runs = [RunResults(run, tuple(Measuring(run).run()), run.problems) for run in found]
    write_report_page(blocks_of(runs, charts(runs, [run.choose(None) for run in runs]), provenance.of_runs(runs)), path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def hostile(new_run: Any) -> Any:
    """A run whose every text is an attack."""
    made = new_run("<img src=x onerror=alert(1)>")
    made.record |= {"error": HOSTILE, "status": HOSTILE, "sender": {"host": HOSTILE}}
    made.record["plan"] |= {"name": HOSTILE}
    made.save()
    line = made.pair(1, index=HOSTILE)
    made.capture(line, "data")
    line["data"]["capture"]["sender_error"] = HOSTILE
    line["data"]["tcp"]["congestion_control"] = HOSTILE
    made.add(line, made.pair(2, index=HOSTILE, status="failed", error=HOSTILE))
    (made.folder / "cloudwatch.csv").write_text(
        "start_ns,period_s,metric,dimensions,statistic,value,cumulative,delta,open\n"
        f"{line['data']['start_ns']},60,CPUUtilization,x={HOSTILE},Average,7,false,,false\n"
    )
    return made


def test_several_runs_stand_side_by_side_in_one_table(small_run: Any, new_run: Any, tmp_path: Path) -> None:
    other = new_run("other")
    other.pairs(3, "I_5")
    page = page_of(tmp_path / "r.html", small_run, other)
    table = page[page.index("Side by side") : page.index('id="pairs"')]
    rows = re.findall(r'<td class="left">(\w+)</td><td[^>]*>(\d+)</td><td[^>]*>([\d.]+)</td>', table)
    assert rows == [("run", "8", "20"), ("other", "3", "20")]
    assert "Side by side" not in page_of(tmp_path / "one.html", small_run)


def test_the_page_holds_every_table_and_figure(small_run: Any, tmp_path: Path) -> None:
    page = page_of(tmp_path / "r.html", small_run)
    own = page[: page.index('<script type="application/json"')]
    for heading in (
        "As run (Table 1)",
        "Round-trip time and loss (Table 2)",
        "What a probe shows",
        "Figures",
        "Transfers",
    ):
        assert heading in own
    for section, rows in (("pairs", 9), ("plan", 4), ("metrics", 10), ("relation", 4), ("transfers", 17)):
        part = own[own.index(f'id="{section}"') :]
        assert part[: part.index("</section>")].count("<tr") == rows, f"{section}: its rows with their head"
    assert [chart["name"] for chart in data_of(page)["charts"]][:2] == [
        "throughput-by-cause", "distribution-throughput"
    ]  # fmt: skip
    assert "8 of 8 pairs finished" in own


def test_what_became_of_connections_comes_before_the_verdict(small_run: Any, tmp_path: Path) -> None:
    run = read_run(small_run.folder)
    silent = json.dumps([["peer_silent", "The server fell silent 9 s before the end."]])
    reset = json.dumps([["reset_by_server", f"The server reset it {HOSTILE}."]])
    reported = dict(zip((2, 3, 5), (silent, silent, reset), strict=True))
    transfers = tuple(
        replace(one, measures=replace(one.measures, outcomes=reported.get(one.pair.sequence)))
        if one.transfer.role == "data"
        else one
        for one in Measuring(run).run()
    )
    results = RunResults(run, transfers, run.problems)
    made = blocks_of([results], charts([results], [results.choose(None)]), provenance.of_runs([results]))
    write_report_page(made, tmp_path / "r")
    page = (tmp_path / "r").read_text(encoding="utf-8")
    answer = page[page.index('id="answer"') : page.index('id="pairs"')]
    assert answer.index("What became of connections") < answer.index('class="sentence"')
    assert "2 connections lost their peer. The first: pair 2, data: The server fell silent 9 s" in answer
    assert "pair 5, data: The server reset it" in answer
    assert HOSTILE not in page
    assert "What became" not in page_of(tmp_path / "none.html", small_run)


def test_the_page_asks_nothing_of_a_network(small_run: Any, tmp_path: Path) -> None:
    page = page_of(tmp_path / "r.html", small_run)
    own = page[: page.index('<script type="application/json"')]
    assert "default-src 'none'" in own
    assert re.findall(r"https?://", own) == []
    assert re.findall(r"<(?:script|img|iframe|object)[^>]*\ssrc=", own) == []


def test_what_a_run_folder_holds_cannot_become_markup(hostile: Any, tmp_path: Path) -> None:
    page = page_of(tmp_path / "r.html", hostile)
    assert HOSTILE not in page
    assert "<img" not in page[: page.index('id="data"')]
    assert page.count("<script") - page[page.index('id="data"') :].count("<script") == 1
    titles = [panel["title"] for chart in data_of(page)["charts"] for panel in chart["panels"]]
    assert any(HOSTILE in title for title in titles), "it is shown as it is"


def test_runs_side_by_side_have_a_part_each(small_run: Any, new_run: Any, tmp_path: Path) -> None:
    other = new_run("other")
    other.pairs(3, captured=False)
    page = page_of(tmp_path / "r.html", small_run, other)
    assert page.count("<h3>run</h3>") == page.count("<h3>other</h3>") == 11
    assert "nothing was captured" in page


def test_a_row_of_each_pair_has_its_verdict_and_a_failed_one_its_error(small_run: Any, tmp_path: Path) -> None:
    small_run.add(small_run.pair(9, "I_1", status="failed", error="no route to host", probe=None, data=None))
    page = page_of(tmp_path / "r.html", small_run)
    part = page[page.index('id="pairs"') : page.index('id="limits"')]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in part.split("<tr")[2:]]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 10)]
    (transfer,) = (one for one in measured(small_run) if one.pair.sequence == 1 and one.transfer.role == "data")
    numbers = transfer.measures
    assert numbers.verdict_factor is not None
    assert numbers.verdict_factor.replace("_", " ") in rows[0][3]
    assert rows[0][10] == numbers.verdict_sentence
    assert rows[0][4:7] == [share(numbers.verdict_share), share(numbers.verdict_confidence), "2.00 Mbit/s"]
    assert rows[8][4:] == ["-", "-", "-", "-", "-", "-", "failed: no route to host"]
    assert page.index('id="answer"') < page.index('id="pairs"') < page.index('id="plan"'), "the verdict is first"


class RunVisit(Visit):
    """A visit to the page of a run."""

    def show(self, name: str) -> Any:
        """Scroll to a figure that is drawn."""
        place = self.page.locator(f"#chart-{name}[data-drawn]")
        place.scroll_into_view_if_needed()
        return place

    def colours(self, name: str, panel: int = 0) -> int:
        """How many colours a panel of a figure shows."""
        counted: int = self.page.evaluate(
            """([name, panel]) => {
              const canvas = document.querySelectorAll(`#chart-${name} canvas`)[panel];
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              return new Set(new Uint32Array(data.buffer)).size;
            }""",
            [name, panel],
        )
        return counted

    def shown(self, name: str) -> list[tuple[float, float]]:
        """What stretch of x each panel of a figure shows."""
        found: list[list[str]] = self.page.evaluate(
            """(name) => [...document.querySelectorAll(`#chart-${name} canvas`)]
              .map(({ dataset }) => [dataset.from, dataset.to])""",
            name,
        )
        return [(float(low), float(high)) for low, high in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_every_section_without_complaint_or_request(
    browser: Any, small_run: Any, tmp_path: Path, scheme: str
) -> None:
    path = tmp_path / "r.html"
    page = page_of(path, small_run)
    visit = RunVisit(browser, path, scheme)
    for section in ("plan", "metrics", "relation", "variation", "two-sides", "figures", "transfers"):
        assert visit.page.locator(f"#{section} h2").is_visible()
    for chart in data_of(page)["charts"]:
        drawn = visit.show(chart["name"])
        assert drawn.locator("canvas").count() == len(chart["panels"])
        assert all(visit.colours(chart["name"], panel) > 3 for panel in range(len(chart["panels"])))
    background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_evidence_of_the_verdict_is_whole_on_paper(browser: Any, small_run: Any, tmp_path: Path) -> None:
    page_of(tmp_path / "r.html", small_run)
    visit = RunVisit(browser, tmp_path / "r.html")
    visit.page.set_viewport_size({"width": 703, "height": 1000})  # A4 between the margins
    visit.media("print")
    filters = visit.page.locator("#why td", has_text="frame.number in")
    assert filters.count() > 0
    ends = [box["x"] + box["width"] for one in filters.all() if (box := one.bounding_box())]
    assert max(ends) <= 703


def test_pairs_and_transfers_are_sorted_by_number_and_what_has_none_is_last(
    browser: Any, small_run: Any, tmp_path: Path
) -> None:
    small_run.add(small_run.pair(9, "I_1", status="failed", error="no route to host", probe=None, data=None))
    path = tmp_path / "r.html"
    page_of(path, small_run)
    visit = RunVisit(browser, path)
    head = visit.page.locator("#pairs th", has_text="throughput")

    def order() -> list[str]:
        found: list[str] = visit.page.locator("#pairs tbody td:first-child").all_inner_texts()
        return found

    visit.page.locator("#pairs summary").first.click()
    head.locator("button").click()
    assert order() == ["8", "7", "6", "5", "4", "3", "2", "1", "9"]
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert order() == ["1", "2", "3", "4", "5", "6", "7", "8", "9"]
    visit.page.locator("#transfers summary").click()
    visit.page.locator("#transfers").get_by_role("button", name="size", exact=True).click()
    assert visit.page.locator("#transfers tbody tr").first.inner_text().split("\t")[2] == "data"
    assert visit.complaints == []


def test_figures_are_drawn_anew_when_somebody_chooses_light(browser: Any, small_run: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    page_of(path, small_run)
    visit = RunVisit(browser, path, "dark")

    def picture() -> str:
        found: str = visit.page.evaluate("document.querySelector('#chart-throughput-by-cause canvas').toDataURL()")
        return found

    dark = picture()
    visit.page.locator("#theme").click()
    assert picture() != dark
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert visit.complaints == []


def test_figures_are_drawn_as_wide_as_the_paper_and_again_for_the_screen(
    browser: Any, small_run: Any, tmp_path: Path
) -> None:
    path = tmp_path / "r.html"
    page_of(path, small_run)
    visit = RunVisit(browser, path)
    canvas = visit.page.locator("#chart-throughput-by-cause canvas")

    def width() -> int:
        found: int = canvas.evaluate("(one) => one.width")
        return found

    on_screen = width()
    visit.media("print")
    assert width() == 3 * 700, "three dots a pixel"
    visit.media("screen")
    assert width() == on_screen
    assert visit.complaints == []


def test_panels_over_one_time_are_zoomed_together(browser: Any, small_run: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    page_of(path, small_run)
    visit = RunVisit(browser, path)
    place = visit.show("along-the-run")
    whole = visit.shown("along-the-run")
    holder = place.locator(".holder").nth(1)
    box = holder.bounding_box()
    visit.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 40)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=3)
    visit.page.mouse.up()
    zoomed = visit.shown("along-the-run")
    assert zoomed == [zoomed[0]] * 3
    (low, high), (first, last) = zoomed[0], whole[0]
    assert high - low == pytest.approx((last - first) * 0.2, rel=0.15)
    holder.focus()
    visit.page.keyboard.press("-")
    assert visit.shown("along-the-run")[0][1] > high
    holder.dblclick()
    assert visit.shown("along-the-run") == whole
    assert visit.complaints == []


def test_a_point_is_read_by_pointing_and_leads_to_its_row(browser: Any, small_run: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    page = page_of(path, small_run)
    series = next(one for one in data_of(page)["charts"][0]["panels"][0]["series"] if one["symbol"] == "circle")
    visit = RunVisit(browser, path)
    place = visit.show("throughput-by-cause")
    at = visit.page.evaluate(
        "([x, y]) => page.charts.placeOf('throughput-by-cause', 0, x, y)", [series["x"][0], series["y"][0]]
    )
    box = place.locator(".holder").bounding_box()
    visit.page.mouse.move(box["x"] + at["x"], box["y"] + at["y"])
    assert place.locator(".reading").inner_text().startswith(f"{series['labels'][0]}: {series['name']}")
    visit.page.mouse.down()
    visit.page.mouse.up()
    assert visit.page.locator(f"#{series['links'][0]}").get_attribute("class") == "current"
    assert visit.complaints == []


def test_a_browser_runs_nothing_that_a_run_folder_holds(browser: Any, hostile: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    page_of(path, hostile)
    visit = RunVisit(browser, path)
    visit.show("figure-3-probe-and-data-throughput")
    assert visit.page.evaluate("typeof window.hacked") == "undefined"
    assert visit.page.locator("img").count() == 0
    visit.page.locator("#plan summary").click()
    assert HOSTILE in visit.page.locator("#plan").inner_text()
    assert visit.complaints == []
