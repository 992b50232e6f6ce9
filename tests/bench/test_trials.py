"""Programs measured in turns."""

import sys
from pathlib import Path

import pytest

from bench.measure import Cost, ProgramError
from bench.trials import Trial, run_in_turns


def noting(name: str, place: Path, *, repeat: int, then: str = "") -> Trial:
    """A program that writes its name behind those of the programs that ran before it."""
    return Trial(name, [sys.executable, "-c", f"open({str(place)!r}, 'a').write({name!r}); {then}"], 1, repeat)


def test_programs_take_turns_and_slow_ones_run_less_often(tmp_path: Path) -> None:
    order = tmp_path / "order"
    trials = [noting("a", order, repeat=7), noting("b", order, repeat=1), noting("c", order, repeat=4)]
    run_in_turns(trials, say=print)
    assert order.read_text() == "aaabcccaaaca"
    assert [len(trial.costs) for trial in trials] == [7, 1, 4]


def test_a_peer_that_fails_is_reported_and_runs_no_more(tmp_path: Path) -> None:
    order, said = tmp_path / "order", list[str]()
    trials = [noting("a", order, repeat=4), noting("b", order, repeat=4, then="raise SystemExit(3)")]
    run_in_turns(trials, say=said.append)
    assert order.read_text() == "aaaba"
    assert trials[1].costs == []
    assert [line for line in said if "status 3" in line]


def test_vmtrace_must_not_fail(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="status 3"):
        run_in_turns([noting("vmtrace", tmp_path / "order", repeat=1, then="raise SystemExit(3)")], say=print)


def test_the_least_of_each_cost_counts() -> None:
    trial = Trial("a", [], 1, 2, costs=[Cost(1.0, 4.0, 3), Cost(2.0, 2.0, 5)])
    assert trial.least == Cost(1.0, 2.0, 3)
