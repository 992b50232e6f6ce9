"""The answer on one screen: the verdict and the rates are always there, the rest as far as it fits."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run import human, human_short
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring


def results_of(made: Any) -> RunResults:
    run = read_run(made.folder)
    return RunResults(run, tuple(Measuring(run).run()), run.problems)


def shown(runs: list[RunResults], width: int = 120, most_lines: int = human_short.MOST_LINES) -> list[str]:
    out = StringIO()
    console = Console(file=out, width=width, color_system=None, markup=False, highlight=False)
    human_short.show(runs, console, most_lines)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_verdict_and_rates_are_there_and_it_is_one_screen(small_run: Any, width: int) -> None:
    lines = shown([results_of(small_run)], width)
    assert len(lines) <= 40
    assert any(line.startswith("verdict: ") for line in lines)
    assert any("all" in line and "data" in line for line in lines)


def test_possible_causes_that_stay_undecided_are_one_line(small_run: Any) -> None:
    lines = shown([results_of(small_run)])
    assert sum("possible causes were not measured, or need 10 or more transfers" in line for line in lines) == 1
    assert not any("10 are needed" in line or "too few transfers" in line for line in lines)


def test_what_does_not_fit_is_counted(small_run: Any) -> None:
    lines = shown([results_of(small_run)], most_lines=20)
    assert lines[-1].endswith("more lines: --all shows them")
    assert len(lines) <= 24


def test_of_many_indices_the_rows_over_all_are_shown(new_run: Any) -> None:
    made = new_run()
    for number in range(8):
        made.pairs(1, f"I_{number}", first=number + 1, captured=False)
    lines = shown([results_of(made)])
    assert not any(line.startswith("I_3 ") for line in lines)
    assert sum(line.startswith("all ") for line in lines) == 2


def test_several_runs_share_the_screen(small_run: Any) -> None:
    results = results_of(small_run)
    lines = shown([results] * 3)
    assert len(lines) <= 45
    assert sum(line.startswith("verdict: ") for line in lines) == 3


def test_nothing_is_said_that_the_whole_answer_does_not_say(small_run: Any) -> None:
    results = results_of(small_run)
    out = StringIO()
    human.show(results, Console(file=out, width=120, color_system=None, markup=False, highlight=False))
    whole = {line.strip() for line in out.getvalue().splitlines()}
    said = {line.strip() for line in shown([results]) if "possible causes" not in line and "more line" not in line}
    assert said - whole == set()
