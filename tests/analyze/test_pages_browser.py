"""Every report in a real browser: on a phone, three screens and paper, light and dark, nothing is cut."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pypdf
import pytest

from analyze.records import provenance
from analyze.records.run_folder import named_apart, read_run
from analyze.run.changes.compare_runs import compare_runs
from analyze.run.changes.page import write_page_of as write_comparison
from analyze.run.figures import charts
from analyze.run.page.page import write_page_of
from analyze.run.results import RunResults
from analyze.run.transfers.transfers import Measuring
from analyze.storage.charts import charts as storage_charts
from analyze.storage.document import provenance as storage_provenance
from analyze.storage.measured import measure_run
from analyze.storage.page import write_page_of as write_storage_page
from analyze.storage.run_folder import read_storage_run
from analyze.storage.tables import reports_of
from analyze.trace import read
from tests.analyze.pages import Visit
from tests.analyze.reports import report_of
from tests.analyze.storage_made import MadeRun, said, talk

WIDTHS = (390, 1280, 1400, 1920)
HIGHEST_FIGURE = 900
FLUID_MS = 2500
"""From the start of a page of 1,000 pairs until it is drawn; measured: 300 ms on two idle cores."""

Maker = Callable[[Path], None]


def measured(*made: Any) -> list[RunResults]:
    found = named_apart([read_run(one.folder) for one in made])
    return [RunResults(run, tuple(Measuring(run).run()), run.problems) for run in found]


def write_runs(path: Path, *made: Any) -> None:
    runs = measured(*made)
    write_page_of(runs, charts(runs, [run.choose(None) for run in runs]), provenance.of_runs(runs), path)


def write_compared(path: Path, *made: Any) -> None:
    before, after = measured(*made)
    write_comparison(compare_runs(before, after), path)


def write_captures(path: Path, new_capture: Any, transfer_into: Any) -> None:
    capture = new_capture()
    for number in range(40):
        lost = (3,) if number % 2 else ()
        transfer_into(capture, start_s=number / 4, port=40_000 + number, segments=12, lost=lost)
    report_of(read(capture.write(path.with_suffix(".pcap"))), path, [1, 2])


def write_storage(path: Path) -> None:
    run = MadeRun(path.parent / "storage")
    run.transaction(1, [said(0, 60, 62, 1001, opened=True), said(62, 80, 82, 1002, opened=True)])
    run.capture(1, [*talk(1001, 25, [(100, 1200)]), *talk(1002, 62, [(100, 1200)])])
    reports = reports_of([measure_run(read_storage_run(run.folder))])
    write_storage_page(reports, storage_charts(reports), storage_provenance(reports), path)


@pytest.fixture
def pages(tmp_path: Path, small_run: Any, new_run: Any, new_capture: Any, transfer_into: Any) -> dict[str, Path]:
    """One page of each report, by name."""
    other, bare = new_run("other"), new_run("bare")
    other.pairs(8)
    bare.pairs(1, captured=False)
    made: dict[str, Maker] = {
        "run": lambda path: write_runs(path, small_run),
        "runs": lambda path: write_runs(path, small_run, other),
        "bare": lambda path: write_runs(path, bare),
        "comparison": lambda path: write_compared(path, small_run, other),
        "captures": lambda path: write_captures(path, new_capture, transfer_into),
        "storage": write_storage,
    }
    for name, make in made.items():
        make(tmp_path / f"{name}.html")
    return {name: tmp_path / f"{name}.html" for name in made}


def overflowing(visit: Visit) -> list[Any]:
    """What is wider than the page's column: the page itself, or a table in it."""
    found: list[Any] = visit.page.evaluate(
        """() => [document.documentElement, ...document.querySelectorAll(".scroll")]
          .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1)
          .map((one) => [one.closest("section")?.id ?? one.tagName, one.scrollWidth, one.clientWidth])"""
    )
    return found


def blank_canvases(visit: Visit) -> list[str]:
    """Canvases with nothing on them, by what they show."""
    found: list[str] = visit.page.evaluate(
        """() => {
          const copy = document.createElement("canvas");
          const pen = copy.getContext("2d", { willReadFrequently: true });
          const isBlank = (canvas) => {
            [copy.width, copy.height] = [300, 100];
            pen.drawImage(canvas, 0, 0, 300, 100);
            return new Set(new Uint32Array(pen.getImageData(0, 0, copy.width, copy.height).data.buffer)).size < 2;
          };
          return [...document.querySelectorAll("canvas")].filter((one) => one.clientWidth && isBlank(one))
            .map((one) => one.getAttribute("aria-label") ?? one.className);
        }"""
    )
    return found


def test_nothing_is_cut_and_the_first_figure_is_in_the_first_screen(browser: Any, pages: dict[str, Path]) -> None:
    for name, path in pages.items():
        for scheme in ("light", "dark"):
            visit = Visit(browser, path, scheme)
            for width in WIDTHS:
                visit.page.set_viewport_size({"width": width, "height": 900})
                visit.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                where = f"{name} at {width} pixels, {scheme}"
                assert overflowing(visit) == [], where
                assert blank_canvases(visit) == [], where
                first = visit.page.locator("figure.chart canvas, #timeline canvas").first.bounding_box()
                assert first["y"] < HIGHEST_FIGURE, where
            assert visit.complaints == [], name
            visit.page.close()


def test_folds_hide_no_table_that_is_cut(browser: Any, pages: dict[str, Path]) -> None:
    for name, path in pages.items():
        visit = Visit(browser, path)
        visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for width in (390, 1280, 1920):
            visit.page.set_viewport_size({"width": width, "height": 900})
            assert overflowing(visit) == [], f"{name} at {width} pixels"
        visit.page.close()


def test_paper_has_no_empty_page_and_every_figure(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    for name, path in pages.items():
        visit = Visit(browser, path, "dark")
        pdf = tmp_path / f"{name}.pdf"
        visit.page.pdf(path=pdf, prefer_css_page_size=True, print_background=True)
        titles = visit.page.locator("figure.chart h3").all_inner_texts()
        visit.page.close()
        sheets = [sheet.extract_text() for sheet in pypdf.PdfReader(pdf).pages]
        assert [number for number, text in enumerate(sheets, 1) if len(text.split()) < 8] == [], name
        together = " ".join(normalize("NFKC", " ".join(sheets)).split())  # fonts join f and i
        assert [title for title in titles if " ".join(title.split()) not in together] == [], name
        # What is drawn on a canvas is on paper as text, too: the axis of its time.
        assert "time since" in together or name == "storage", name


def test_a_page_of_thirty_pairs_is_small_and_one_of_a_thousand_is_fluid(
    browser: Any, new_run: Any, tmp_path: Path
) -> None:
    thirty, thousand = new_run("thirty"), new_run("thousand")
    thirty.pairs(30)
    thousand.pairs(1000)
    write_runs(tmp_path / "thirty.html", thirty)
    write_runs(tmp_path / "thousand.html", thousand)
    assert (tmp_path / "thirty.html").stat().st_size < 1_000_000
    assert (tmp_path / "thousand.html").stat().st_size < 10_000_000
    visit = Visit(browser, tmp_path / "thousand.html")
    drawn_ms = visit.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert drawn_ms < 2 * FLUID_MS
    assert visit.page.locator("#pairs tbody tr").count() == 30, "shown page by page"
    holder = visit.page.locator("#chart-throughput-by-cause .holder")
    took_ms = holder.evaluate(
        """(holder) => {
          const began = performance.now();
          for (const key of ["+", "+", "-", "0"]) holder.dispatchEvent(new KeyboardEvent("keydown", { key }));
          return performance.now() - began;
        }"""
    )
    assert took_ms < FLUID_MS
    visit.page.locator("#pairs input[type=search]").fill("I_0")
    visit.page.locator("#pairs th button", has_text="throughput").click()
    assert visit.page.locator("#pairs tbody tr").first.locator("td").first.inner_text() == "1000"
    assert visit.complaints == []


def test_of_many_runs_each_is_a_point_and_a_row(browser: Any, new_run: Any, tmp_path: Path) -> None:
    made = [new_run(f"run-{number:03}") for number in range(40)]
    for one in made:
        one.pairs(1, captured=False)
    write_runs(tmp_path / "many.html", *made)
    visit = Visit(browser, tmp_path / "many.html")
    assert visit.page.locator("h1").inner_text() == "run-000 and 39 more runs"
    points = visit.page.evaluate("page.data.charts[0].panels[0].series.reduce((sum, one) => sum + one.x.length, 0)")
    assert points == 40
    assert visit.page.locator("#beside tbody tr").count() == 30
    assert visit.page.locator("#beside .shown").inner_text() == "1 to 30 of 40"
    assert visit.page.locator("#pairs h3").count() == 6
    assert visit.complaints == []
