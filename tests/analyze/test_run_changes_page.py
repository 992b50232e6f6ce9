"""The page of two runs: both over time, the answer, the table; nothing in it is markup that was not meant so."""

import re
from typing import Any

from analyze.run.changes import RunComparison, compare_runs
from analyze.run.changes_page import QUANTITIES, page, picture, points
from analyze.run.results import RunResults
from analyze.run.run_folder import read_run
from analyze.run.transfers import Measuring


def results_of(made: Any) -> RunResults:
    run = read_run(made.folder)
    return RunResults(run, tuple(Measuring(run).run()), run.problems)


def compared(before: Any, after: Any) -> RunComparison:
    return compare_runs(results_of(before), results_of(after))


def slower(new_run: Any, name: str, rate_bps: float) -> Any:
    made = new_run(name)
    for sequence in range(1, 13):
        line = made.pair(sequence)
        line["data"] = made.transfer(sequence, "data", rate_bps + 1e3 * sequence)
        made.add(line)
    return made


def test_both_runs_are_drawn_over_time_with_a_point_for_each_transfer(new_run: Any) -> None:
    text = page(compared(slower(new_run, "main", 2e6), slower(new_run, "branch", 1e6)))
    assert text.count("<svg") == 1, "without captures there is goodput alone"
    for kind, name in (("before", "main"), ("after", "branch")):
        assert text.count(f'<circle class="{kind}"') == 12
        assert f"{name}, I_0, pair 12: " in text
    assert "1 change established among" in text
    assert '<tr class="changed">' in text


def test_captures_add_round_trips_and_loss(small_run: Any) -> None:
    results = results_of(small_run)
    text = page(compare_runs(results, results))
    assert [title in text for title in ("Goodput of", "Median RTT of", "Loss of")] == [True] * 3
    assert text.count("<svg") == 3


def test_names_are_text(new_run: Any) -> None:
    before = slower(new_run, "a&b", 2e6)
    text = page(compared(before, slower(new_run, "c", 2e6)))
    assert "a&amp;b and c compared" in text
    assert "a&b" not in text
    assert not re.search(r"<script|https?://", text)


def test_the_first_picture_has_zero_at_its_foot_and_the_largest_value_on_top(new_run: Any) -> None:
    sides = [points(results_of(slower(new_run, "main", 2e6)), QUANTITIES[0])] * 2
    drawn = picture(sides, QUANTITIES[0].shown_as, "x")
    heights = [float(top) for top in re.findall(r'cy="([0-9.]+)"', drawn)]
    assert min(heights) == 12.0
    assert max(heights) < 220 - 34
    assert "0 bit/s" in drawn


def test_a_run_of_one_pair_has_a_picture(new_run: Any) -> None:
    made = new_run("one")
    made.pairs(1, "I_0", captured=False)
    results = results_of(made)
    assert page(compare_runs(results, results)).count("<circle") == 2
