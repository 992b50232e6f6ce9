"""Every page in a real browser: on a phone, three screens and paper, light and dark, nothing is cut.

The first screen of each holds what was measured, the answer with its number, and the chart that shows it.
"""

from io import BytesIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pypdf
import pytest
from PIL import Image

from tests.analyze.every_page import PAGES, write_runs
from tests.analyze.pages import Visit
from tests.cut import cut

WIDTHS = (390, 1280, 1400, 1920)
SCREENS = {390: 844, 1280: 800}
"""Heights of a phone and of a small notebook."""
TALLEST = {390: 8000, 1280: 4000}
SEVERAL_RUNS = 1.4
"""Times as tall may a page be that shows each of two runs."""
BEGINS_BY = 0.92
"""So far down a first figure begins at most, as a share of the first screen."""
FLUID_MS = 2500
"""Of one core, until a page of 1,000 pairs is drawn; measured: 300 ms on two idle cores."""
MOST_SHEETS = {"capture": 2, "run": 5, "one pair": 5, "comparison": 5}
"""Of paper: of one connection, and of a run."""
PAPER = {"auto": 703, "wide": 1047}
"""A4 between the margins, upright and across, in pixels."""
KEYS = 12
"""Presses of the Tab key; the rest is known by what can be reached."""
FIGURES = "figure.chart canvas, #timeline canvas, #lanes canvas, figure.drawing svg"
EVERY_PAGE = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file of a page, made when it is first asked for."""
    made: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name.replace(" ", "-")) / "page.html"
            PAGES[name](made[name])
        return made[name]

    return find


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


def answer_of(visit: Visit) -> Any:
    """The first line of a page's answer."""
    return visit.page.locator("#findings li, #answer p.sentence").first


def first_words(visit: Visit) -> str:
    """What stands before the first figure."""
    words: str = visit.page.evaluate(
        """() => [...document.querySelectorAll("#findings li, #answer > p, #answer > ul > li")]
          .map((one) => one.innerText).join(" ")"""
    )
    return words


def cut_texts(visit: Visit) -> list[str]:
    """Texts that are wider than the box they are in, where the box hides or clips the rest."""
    found: list[str] = visit.page.evaluate(
        """() => [...document.querySelectorAll("h1, h2, h3, p, li, td, th, summary, button, figcaption, dt, dd, label")]
          .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1
            && getComputedStyle(one).overflowX !== "visible")
          .map((one) => one.textContent.slice(0, 60))"""
    )
    return found


@EVERY_PAGE
@pytest.mark.parametrize("scheme", cut(["dark", "light"], 1))
def test_nothing_is_cut_and_the_first_figure_is_in_the_first_screen(
    browser: Any, page_of: Any, name: str, scheme: str
) -> None:
    for widths in (WIDTHS[:1], WIDTHS[1:]):  # a phone does not become a screen
        visit = Visit(browser, page_of(name), scheme, widths[0])
        for width in widths:
            height = SCREENS.get(width, 900)
            visit.page.set_viewport_size({"width": width, "height": height})
            visit.drawn()
            where = f"{width} pixels"
            assert overflowing(visit) == [], where
            assert blank_canvases(visit) == [], where
            assert cut_texts(visit) == [], where
            figure, said = visit.page.locator(FIGURES).first.bounding_box(), answer_of(visit)
            assert said.bounding_box()["y"] + said.bounding_box()["height"] < height / 2, where
            assert figure["y"] < BEGINS_BY * height, where
            if name != "captures":  # what is below their waterfall is about one of them
                proof = visit.page.locator("[data-lane=throughput] canvas" if name == "capture" else FIGURES).first
                box = proof.bounding_box()
                assert box["y"] + box["height"] <= height, where
            if width in TALLEST:
                tall = visit.page.evaluate("document.documentElement.scrollHeight")
                assert tall <= TALLEST[width] * (SEVERAL_RUNS if name == "runs" else 1), where
        assert visit.page.locator("h1").first.inner_text().strip()
        assert any(letter.isdigit() for letter in first_words(visit)), "the answer has its number"
        assert visit.complaints == []
        visit.page.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, which judges what people with a weak sight or without a mouse get of a page."""
    script = Path(__file__).parents[2] / "build/axe/node_modules/axe-core/axe.min.js"
    if not script.exists():
        pytest.skip("axe-core is not installed in build/axe: make setup, which needs npm")
    return script.read_text()


@EVERY_PAGE
def test_axe_finds_nothing_on_a_phone_and_on_a_screen(browser: Any, page_of: Any, axe: str, name: str) -> None:
    visit = Visit(browser, page_of(name))
    visit.page.evaluate(axe)
    visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for (width, height), scheme in zip(SCREENS.items(), ("dark", "light"), strict=True):
        visit.page.set_viewport_size({"width": width, "height": height})
        visit.page.emulate_media(color_scheme=scheme)
        visit.drawn()
        found = visit.page.evaluate(
            """async (rows) => (await axe.run({ exclude: [rows] }, { resultTypes: ["violations"] })).violations
              .map(({ id, nodes }) => [id, nodes.slice(0, 3).map((one) => one.html + one.failureSummary)])""",
            "tbody tr:nth-child(n + 4)",  # like those before them
        )
        assert found == [], f"{width} pixels, {scheme}"
    visit.page.close()


@EVERY_PAGE
def test_the_keyboard_goes_from_top_to_bottom_and_leaves_nothing_out(browser: Any, page_of: Any, name: str) -> None:
    visit = Visit(browser, page_of(name), "light", min(SCREENS))
    for width, height in SCREENS.items():
        visit.page.set_viewport_size({"width": width, "height": height})
        visit.page.reload()  # the keyboard begins at the top
        visit.drawn()
        reachable, skipped = visit.page.evaluate(
            """() => {
              const all = [...document.querySelectorAll("button, a[href], input, select, summary, [tabindex]")]
                .filter((one) => one.checkVisibility() && one.getClientRects().length && !one.disabled);
              all.forEach((one, place) => { one.dataset.place = place; });
              const isControl = (one) => one.matches("button, a, input, select, summary");
              const skipped = all.filter((one) => isControl(one) && one.tabIndex !== 0);
              return [all.filter((one) => one.tabIndex >= 0).length, skipped.map((one) => one.outerHTML.slice(0, 80))];
            }"""
        )
        assert skipped == []
        places = []
        for _ in range(min(reachable, KEYS)):
            visit.page.keyboard.press("Tab")
            places.append(visit.page.evaluate("Number(document.activeElement.dataset.place ?? -1)"))
        assert places == list(range(len(places))), f"{width} pixels: each in the order in which it is read"
        ring = visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring != "none", "where the keyboard is can be seen"
    visit.page.close()


@EVERY_PAGE
def test_folds_hide_no_table_that_is_cut(browser: Any, page_of: Any, name: str) -> None:
    visit = Visit(browser, page_of(name))
    visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in WIDTHS:
        visit.page.set_viewport_size({"width": width, "height": 900})
        visit.drawn()
        assert overflowing(visit) == [], f"{width} pixels"
    visit.page.close()


@EVERY_PAGE
def test_a_picture_of_the_whole_page_shows_every_figure_and_each_can_be_saved(
    browser: Any, page_of: Any, name: str
) -> None:
    visit = Visit(browser, page_of(name), "light", 1280)
    visit.drawn()
    picture = np.asarray(Image.open(BytesIO(visit.page.screenshot(full_page=True))).convert("L"))
    boxes = [one.bounding_box() for one in visit.page.locator(FIGURES).all() if one.is_visible()]
    assert boxes
    for box in boxes:
        left, top = int(box["x"]), int(box["y"])
        part = picture[top : top + int(box["height"]), left : left + int(box["width"])]
        assert part.size
        assert len(np.unique(part)) > 2, f"nothing is seen at {left}, {top}"
    check_saved(visit)
    visit.page.close()


def check_saved(visit: Visit) -> None:
    """Each chart has its buttons; the first one's picture has its title, and its points are there with their units."""
    charts = visit.page.locator("figure.chart, #lanes .lane:has(.key)")
    for one in charts.all():
        assert not one.is_visible() or one.locator(".save button").all_inner_texts() == ["PNG", "CSV"]
    first, saved = charts.first, {}
    for kind in ("PNG", "CSV"):
        with visit.page.expect_download() as download:
            first.locator(".save button", has_text=kind).click()
        saved[kind] = Path(download.value.path())
    picture = Image.open(saved["PNG"])
    assert picture.width == pytest.approx(first.bounding_box()["width"], abs=2)
    title = round(first.locator(".title, b").first.bounding_box()["height"])
    assert len(np.unique(np.asarray(picture.convert("L"))[:title])) > 2
    head, *points = saved["CSV"].read_text().splitlines()
    assert head.startswith(("panel,series,point,x,x_unit,y,y_unit", "series,time_s,"))
    assert len(points) > 0


@EVERY_PAGE
def test_paper_has_no_empty_page_and_every_figure(browser: Any, page_of: Any, name: str, tmp_path: Path) -> None:
    visit = Visit(browser, page_of(name), "dark")
    visit.page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True, print_background=True)
    titles = [one.inner_text() for one in visit.page.locator("figure.chart .title").all() if one.is_visible()]
    closed = visit.page.locator("main details:not([open]) > summary").all_inner_texts()
    closed = [line for line in closed if line != "Provenance"]
    visit.page.close()
    sheets = [sheet.extract_text() for sheet in pypdf.PdfReader(tmp_path / "page.pdf").pages]
    assert [number for number, text in enumerate(sheets, 1) if len(text.split()) < 8] == []
    together = " ".join(normalize("NFKC", " ".join(sheets)).split())  # fonts join f and i
    assert len(sheets) <= MOST_SHEETS.get(name, len(sheets))
    assert [title for title in titles if " ".join(title.split()) not in together] == []
    assert [line for line in closed if " ".join(line.split()) in together] == [], "a fold that is closed says nothing"
    assert ("Closed folds are not on paper" in together) == bool(closed)
    # What is drawn on a canvas is on paper as text, too: the axis of its time.
    assert "time since" in together or "months from now" in together or name == "storage"


@EVERY_PAGE
def test_folds_that_are_open_are_on_paper_under_their_headings(
    browser: Any, page_of: Any, name: str, tmp_path: Path
) -> None:
    visit = Visit(browser, page_of(name))
    folds = "main details:not(#provenance details, .hint)"
    visit.page.evaluate("(folds) => document.querySelectorAll(folds).forEach((one) => { one.open = true; })", folds)
    visit.page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    wanted = visit.page.locator(
        f"main section:not(.screen-only) > h2:not(:has(select)), {folds} > summary"
    ).all_inner_texts()
    visit.page.close()
    sheets = [sheet.extract_text() for sheet in pypdf.PdfReader(tmp_path / "page.pdf").pages]
    assert [number for number, text in enumerate(sheets, 1) if len(text.split()) < 8] == []
    together = " ".join(normalize("NFKC", " ".join(sheets)).split())
    assert [text for text in wanted if " ".join(text.split()) not in together] == []


@EVERY_PAGE
def test_no_table_is_wider_than_the_paper(browser: Any, page_of: Any, name: str) -> None:
    visit = Visit(browser, page_of(name))
    visit.media("print")
    visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for paper, width in PAPER.items():
        visit.page.set_viewport_size({"width": width, "height": 1000})
        ends = visit.page.evaluate(
            """(paper) => {
              const across = (one) => getComputedStyle(one.closest("section") ?? one).page === "wide";
              return [...document.querySelectorAll("table")]
                .filter((one) => one.clientWidth && across(one) === (paper === "wide"))
                .map((one) => [one.closest("section")?.id, one.getBoundingClientRect().right]);
            }""",
            paper,
        )
        assert [(section, end) for section, end in ends if end > width] == [], paper
    visit.page.close()


class ThreadClock:
    """The processor time of a page's thread: it does not pass while others keep the machine busy."""

    def __init__(self, visit: Visit) -> None:
        self._session = visit.page.context.new_cdp_session(visit.page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._last_ms = self._now_ms()

    def passed_ms(self) -> float:
        """Since it was last asked."""
        before, self._last_ms = self._last_ms, self._now_ms()
        return self._last_ms - before

    def _now_ms(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


def test_a_page_of_thirty_pairs_is_small_and_one_of_a_thousand_is_fluid(
    browser: Any, new_run: Any, tmp_path: Path
) -> None:
    thirty, thousand = new_run("thirty"), new_run("thousand")
    thirty.pairs(30)
    thousand.pairs(1000)
    write_runs(tmp_path / "thirty.html", thirty)
    write_runs(tmp_path / "thousand.html", thousand)
    assert (tmp_path / "thirty.html").stat().st_size < 1_000_000
    for width, tallest in TALLEST.items():
        small = Visit(browser, tmp_path / "thirty.html", "light", width)
        small.drawn()
        assert small.page.evaluate("document.documentElement.scrollHeight") <= tallest
        small.page.pdf(path=tmp_path / "thirty.pdf", prefer_css_page_size=True)
        assert len(pypdf.PdfReader(tmp_path / "thirty.pdf").pages) <= MOST_SHEETS["run"]
        small.page.close()
    assert (tmp_path / "thousand.html").stat().st_size < 10_000_000
    visit = Visit(browser, tmp_path / "thousand.html")
    clock = ThreadClock(visit)
    visit.page.reload()
    assert clock.passed_ms() < FLUID_MS
    assert visit.page.locator("#pairs tbody tr").count() == 30, "shown page by page"
    holder = visit.page.locator("#chart-throughput-by-cause .holder")
    clock.passed_ms()
    holder.evaluate(
        """(holder) => {
          for (const key of ["+", "+", "-", "0"]) holder.dispatchEvent(new KeyboardEvent("keydown", { key }));
        }"""
    )
    assert clock.passed_ms() < FLUID_MS
    visit.page.locator("#pairs summary").first.click()
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
