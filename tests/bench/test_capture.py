"""The tables say what was measured, and a worse vmtrace is found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import capture
from bench.capture import Bulk, Trial
from bench.recorders import Outcome
from tests.busy_machine import where_it_ran
from tests.cut import cut
from vmtrace.capture.rights import missing_rights
from vmtrace.lab import namespaces

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]


def trial(name: str, rate: float, lost: int, asked: float | None = None) -> Trial:
    return Trial(name, asked or rate, rate, 1000, Outcome(1000 - lost, lost, 0.001))


def test_the_highest_rate_is_that_of_a_try_without_a_loss() -> None:
    trials = [trial("vmtrace", 100, 0), trial("vmtrace", 200, 1), trial("vmtrace", 201, 0), trial("vmtrace", 300, 5)]
    assert capture.highest(trials, "vmtrace") == 201
    assert capture.highest(trials, "tcpdump") == 0


def test_vmtrace_is_worse_only_if_another_passed_a_further_step() -> None:
    # What a generator reaches within a step is not the recorder's doing.
    trials = [trial("vmtrace", 180, 0, asked=200), trial("tcpdump", 199, 0, asked=200), trial("dumpcap", 100, 0)]
    assert capture.where_worse(trials) == []
    trials.append(trial("dumpcap", 300, 0))
    assert capture.where_worse(trials) == [
        "WORSE: dumpcap lost nothing at 300 packets/s, vmtrace at most at 200",
    ]


def test_the_tables_have_a_line_for_each_program() -> None:
    trials = [trial("vmtrace", 200, 0), trial("tcpdump", 100, 0)]
    assert capture.rates_table(trials).splitlines()[2:] == [
        "| vmtrace | 200 | 1.00 | 1,000 |",
        "| tcpdump | 100 | 0.50 | 1,000 |",
    ]
    [line] = capture.bulk_table([Bulk("vmtrace", 14.55, Outcome(2000, 1, 0.25))]).splitlines()[2:]
    assert line == "| vmtrace | 14.6 | 2,000 | 1 | 0.25 |"


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.may_skip
@pytest.mark.parametrize("tries", cut([1, 2], 1))
def test_a_short_run_at_an_easy_rate_loses_nothing(tries: int) -> None:
    reason = missing_rights() or namespaces.missing_requirement()
    if reason or len(os.sched_getaffinity(0)) < 2:
        pytest.skip(reason or "needs two processors")
    words = ["--least", "50000", "--most", "50000", "--seconds", "1", "--tries", str(tries), "--print-only"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}

    def check() -> None:
        done = subprocess.run(
            [sys.executable, "-m", "bench.capture", *words],
            check=False,
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "| vmtrace | 50,0" in done.stdout or "| vmtrace | 49,9" in done.stdout

    where_it_ran(check, attempts=3)
