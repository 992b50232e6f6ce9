"""The page of a comparison: the change of throughput in a sentence, both runs over one axis, every metric."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.analyze.pages import Visit, words
from vmtrace.analyze.pages.blocks import Page, charts_of
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import named_apart, read_run
from vmtrace.analyze.reports.run.changes import page as changes_page
from vmtrace.analyze.reports.run.changes import terminal
from vmtrace.analyze.reports.run.changes.compare_runs import Change, RunComparison, compare_runs
from vmtrace.analyze.reports.run.changes.page import page_of
from vmtrace.analyze.reports.run.changes.terminal import headline
from vmtrace.analyze.reports.run.charts import both_over_time
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.tables.table import Column

HOSTILE = "<img src=x onerror=alert(1)>"
TIMES = "\N{MULTIPLICATION SIGN}"


def compared(*made: Any) -> RunComparison:
    runs = named_apart([read_run(one.folder) for one in made])
    before, after = (RunResults(run, tuple(Measuring(run).run()), run.problems) for run in runs)
    return compare_runs(before, after)


def run_with(new_run: Any, name: str, factor: float, pairs: int = 12) -> Any:
    made = new_run(name)
    for sequence in range(1, pairs + 1):
        line = made.pair(sequence)
        rate = factor * 1e6 * (1 + sequence % 5 / 10)
        line["data"] = made.transfer(sequence, "data", rate)
        made.add(line)
    return made


@pytest.mark.parametrize(("factor", "word"), [(3.0, f"higher ({TIMES}3"), (0.25, f"lower ({TIMES}0.25")])
def test_the_change_of_throughput_is_the_first_sentence(new_run: Any, factor: float, word: str) -> None:
    comparison = compared(run_with(new_run, "old", 1.0), run_with(new_run, "new", factor))
    assert headline(comparison).startswith(f"Throughput of data transfers: {word}")
    page = page_of(comparison)
    assert words(page.answer).startswith(headline(comparison))
    assert {section.id for section in page.sections} == {"changes", "causes", "distributions"}


def test_runs_that_do_not_differ_and_runs_of_too_few_pairs_say_so(new_run: Any) -> None:
    same = compared(run_with(new_run, "old", 1.0), run_with(new_run, "new", 1.0))
    effect = rf"\({TIMES}1, 95 % 0\.\d+ to 1\.\d+, p = 1\.000\)"
    assert re.fullmatch(rf"Throughput of data transfers: no significant change {effect}\.", headline(same))
    few = compared(run_with(new_run, "a", 1.0, pairs=2), run_with(new_run, "b", 5.0, pairs=2))
    assert "fewer than 6 values on a side" in headline(few)


def test_runs_with_nothing_in_common_are_said_to_be_not_comparable(new_run: Any) -> None:
    other = new_run("other")
    other.pairs(3, "I_9", captured=False)
    comparison = compared(run_with(new_run, "old", 1.0), other)
    assert headline(comparison).startswith("Throughput of data transfers cannot be compared")
    assert isinstance(page_of(comparison), Page)


def test_a_made_up_column_shows_on_the_terminal_and_on_the_page(new_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up: Column[Change] = Column("made up", lambda change: f"made of {change.metric}", least_width=90)
    for module in (terminal, changes_page):
        monkeypatch.setattr(module, "COLUMNS", (*terminal.COLUMNS, made_up))
    comparison = compared(run_with(new_run, "old", 1.0), run_with(new_run, "new", 3.0))
    shown = [printed(comparison, width) for width in (160, 80)]
    assert ["made of goodput_bps" in text for text in shown] == [True, True], (
        "a card has what a narrow table leaves out"
    )
    changes = next(section for section in page_of(comparison).sections if section.id == "changes")
    assert "made of goodput_bps" in words(changes.blocks)


def printed(comparison: RunComparison, width: int) -> str:
    out = io.StringIO()
    terminal.show(comparison, Console(file=out, width=width, color_system=None, markup=False))
    return out.getvalue()


def test_both_runs_are_over_the_axis_of_the_longer_one(new_run: Any) -> None:
    comparison = compared(run_with(new_run, "old", 1.0, pairs=3), run_with(new_run, "new", 1.0, pairs=30))
    chart = both_over_time.chart(comparison.before, comparison.after)
    assert chart.x.unit == "min"
    points = [one for one in chart.panels[0].series if one.style == "points"]
    assert [(one.name, len(one.x)) for one in points] == [("before: old", 3), ("after: new", 30)]
    assert float(np.max(points[0].x)) == pytest.approx(25 / 60)
    assert chart.panels[2].note == "no captures"


def test_a_browser_shows_the_page_and_runs_nothing_of_a_name(browser: Any, new_run: Any, tmp_path: Path) -> None:
    comparison = compared(run_with(new_run, "old", 1.0), run_with(new_run, HOSTILE, 2.0))
    path = tmp_path / "c.html"
    write_report_page(page_of(comparison), path)
    visit = Visit(browser, path)
    figures = len(charts_of(page_of(comparison)))
    assert visit.page.locator("figure.chart[data-drawn]").count() == figures
    assert visit.page.locator("img").count() == 0
    assert HOSTILE in visit.page.locator("h1").inner_text()
    assert visit.complaints == []
