"""The display where rich is installed."""

from __future__ import annotations

import io

from rich.console import Console

from tests.sender.shown import DROPPED, DROPPED_WORDS, tell
from vmtrace.sender.display.live import RichDisplay
from vmtrace.sender.display.view import RunView
from vmtrace.sender.plan import Plan


def test_bars_while_it_runs_lines_that_stay_and_the_summary_apart(plan: Plan) -> None:
    live, answers = io.StringIO(), io.StringIO()
    console = Console(file=live, force_terminal=True, width=160, color_system=None)
    display = RichDisplay(console, Console(file=answers, width=160, markup=False))
    display._live.progress.live.auto_refresh = False
    tell(display, plan)
    text = live.getvalue()
    for words in (
        "plan small: 3 pairs, to there:5810 (host), into run1",
        "trying again in 2 s",
        "there: connection lost [x]",
        "I_0 pair 2: failed after 5 attempts: digests differ",
        "the receiver's files are partial: there: connection lost",
        "2 finished",
    ):
        assert words in text
    assert answers.getvalue() == "complete: [2] pairs\n"


def test_a_pair_with_drops_has_a_line_that_stays(plan: Plan) -> None:
    live = io.StringIO()
    display = RichDisplay(Console(file=live, force_terminal=True, width=300, color_system=None))
    display.started(RunView("run1", "a" * 32, plan, 0, 0.0, "there", "packets are not recorded"))
    display.pair_finished(DROPPED)
    display.close()
    assert DROPPED_WORDS in live.getvalue()


def test_fetching_alone_has_a_bar() -> None:
    live = io.StringIO()
    display = RichDisplay(Console(file=live, force_terminal=True, width=100, color_system=None))
    display.fetching(1, 2)
    display._live.progress.refresh()
    display.close()
    assert "1 of 2 files" in live.getvalue()
