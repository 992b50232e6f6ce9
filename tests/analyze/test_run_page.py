"""The page of a run's report: it holds everything, asks nothing of a network, and runs nothing of what it shows."""

import re
from pathlib import Path
from typing import Any

import pytest

from analyze.records import provenance
from analyze.records.run_folder import named_apart, read_run
from analyze.run.figures import charts
from analyze.run.page.page import write_page_of
from analyze.run.results import RunResults
from analyze.run.transfers.transfers import MeasuredTransfer, Measuring
from analyze.units import share
from tests.analyze.pages import Visit, data_of

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>@@data@@"


def measured(made: Any) -> list[MeasuredTransfer]:
    return Measuring(read_run(made.folder)).run()


def page_of(path: Path, *made: Any) -> str:
    found = named_apart([read_run(one.folder) for one in made])
    runs = [RunResults(run, tuple(Measuring(run).run()), run.problems) for run in found]
    write_page_of(runs, charts(runs, [run.choose(None) for run in runs]), provenance.of_runs(runs), path)
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
    table = page[page.index("Side by side") : page.index("<main>")]
    rows = re.findall(r'<td class="left">(\w+)</td><td>(\d+)</td><td>([\d.]+)</td>', table)
    assert rows == [("run", "8", "20"), ("other", "3", "20")]
    assert "Side by side" not in page_of(tmp_path / "one.html", small_run)


def test_the_page_holds_every_table_and_figure(small_run: Any, tmp_path: Path) -> None:
    page = page_of(tmp_path / "r.html", small_run)
    own = page[: page.index('<script type="application/json"')]
    for heading in (
        "As run (Table 1)",
        "Round-trip time and loss (Table 2)",
        "What a probe tells",
        "Figures",
        "Transfers",
    ):
        assert heading in own
    for section, rows in (("pairs", 9), ("plan", 4), ("metrics", 7), ("relation", 4), ("transfers", 17)):
        part = own[own.index(f'id="{section}"') :]
        assert part[: part.index("</section>")].count("<tr") == rows, f"{section}: its rows with their head"
    assert [chart["name"] for chart in data_of(page)["charts"]][:2] == [
        "figure-3-probe-and-data-throughput", "along-the-run"
    ]  # fmt: skip
    assert "8 of 8 pairs finished" in own


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
    assert HOSTILE in data_of(page)["charts"][0]["panels"][0]["title"], "it is shown as it is"


def test_runs_side_by_side_have_a_part_each(small_run: Any, new_run: Any, tmp_path: Path) -> None:
    other = new_run("other")
    other.pairs(3, captured=False)
    page = page_of(tmp_path / "r.html", small_run, other)
    assert page.count("<h3>run</h3>") == page.count("<h3>other</h3>") == 10
    assert "nothing was captured" in page


def test_a_row_of_each_pair_has_its_verdict_and_a_failed_one_its_error(small_run: Any, tmp_path: Path) -> None:
    small_run.add(small_run.pair(9, "I_1", status="failed", error="no route to host", probe=None, data=None))
    page = page_of(tmp_path / "r.html", small_run)
    part = page[page.index('id="pairs"') : page.index('id="limits"')]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in part.split("<tr>")[2:]]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 10)]
    (transfer,) = (one for one in measured(small_run) if one.pair.sequence == 1 and one.transfer.role == "data")
    numbers = transfer.measures
    assert numbers.verdict_factor is not None
    assert numbers.verdict_factor.replace("_", " ") in rows[0][3]
    assert rows[0][10] == numbers.verdict_sentence
    assert rows[0][4:7] == [share(numbers.verdict_share), share(numbers.verdict_confidence), "2.00 Mbit/s"]
    assert rows[8][4:] == ["-", "-", "-", "-", "-", "-", "failed: no route to host"]
    assert page.index('id="verdict"') < page.index('id="pairs"') < page.index('id="plan"'), "the verdict is first"


class RunVisit(Visit):
    """A visit to the page of a run."""

    def show(self, name: str) -> Any:
        """Scroll to a figure and wait until it is drawn."""
        place = self.page.locator(f"#chart-{name}")
        place.scroll_into_view_if_needed()
        place.locator(".main-svg").first.wait_for()
        return place


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
        assert drawn.locator(".cartesianlayer > .subplot").count() == len(chart["panels"])
        assert drawn.locator(".point, .js-line").count() > 3
    background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_evidence_of_the_verdict_is_whole_on_paper(browser: Any, small_run: Any, tmp_path: Path) -> None:
    page_of(tmp_path / "r.html", small_run)
    visit = RunVisit(browser, tmp_path / "r.html")
    visit.page.set_viewport_size({"width": 703, "height": 1000})  # A4 between the margins
    visit.page.emulate_media(media="print")
    filters = visit.page.locator("#verdict td", has_text="frame.number in")
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
    visit.show("figure-3-probe-and-data-throughput")

    def paper() -> str:
        found: str = visit.page.evaluate(
            "document.getElementById('chart-figure-3-probe-and-data-throughput')._fullLayout.paper_bgcolor"
        )
        return found

    assert paper() == "#14181d"
    visit.page.locator("#theme").click()
    assert paper() == "#ffffff"
    assert visit.complaints == []


def test_figures_are_drawn_when_they_come_into_sight_and_all_of_them_for_print(
    browser: Any, small_run: Any, tmp_path: Path
) -> None:
    path = tmp_path / "r.html"
    page_of(path, small_run)
    visit = RunVisit(browser, path)
    visit.show("figure-3-probe-and-data-throughput")
    assert visit.page.locator("#chart-figure-6-mean-spacing-and-throughput .main-svg").count() == 0
    visit.page.emulate_media(media="print")
    visit.page.locator("#chart-figure-6-mean-spacing-and-throughput .main-svg").first.wait_for()
    wide = visit.page.locator("#chart-figure-3-probe-and-data-throughput .main-svg").first
    assert float(wide.get_attribute("width")) == 700, "as wide as paper"
    visit.page.emulate_media(media="screen")
    # It is drawn anew in a frame of its own. The page's policy forbids waiting by an expression.
    visit.page.evaluate(
        """new Promise((done) => {
          const chart = document.querySelector("#chart-figure-3-probe-and-data-throughput");
          const wide = () => chart.querySelector(".main-svg").clientWidth > 800;
          const look = (left) => (wide() || !left ? done() : requestAnimationFrame(() => look(left - 1)));
          look(600);
        })"""
    )
    assert float(wide.get_attribute("width")) > 800
    assert visit.complaints == []


def test_panels_over_one_time_are_zoomed_together(browser: Any, small_run: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    page_of(path, small_run)
    visit = RunVisit(browser, path)
    visit.show("along-the-run")
    visit.page.evaluate("Plotly.relayout('chart-along-the-run', {'xaxis.range': [20, 40]})")
    ranges = visit.page.evaluate(
        "['xaxis', 'xaxis2', 'xaxis3'].map((x) => document.getElementById('chart-along-the-run')._fullLayout[x].range)"
    )
    assert ranges == [[20, 40]] * 3


def test_a_browser_runs_nothing_that_a_run_folder_holds(browser: Any, hostile: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    page_of(path, hostile)
    visit = RunVisit(browser, path)
    visit.show("figure-3-probe-and-data-throughput")
    assert visit.page.evaluate("typeof window.hacked") == "undefined"
    assert visit.page.locator("img").count() == 0
    assert HOSTILE in visit.page.locator("#plan").inner_text()
    assert visit.complaints == []
