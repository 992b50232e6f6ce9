"""A check of real time is repeated where the machine stood still meanwhile, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import busy_machine
from tests.busy_machine import Witness, where_it_ran

# Takes a processor away from all others for 50 ms, as a hypervisor does.
HOG = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
end_s = time.monotonic() + 0.05
while time.monotonic() < end_s:
    pass
"""


class Check:
    """Fails the first times that it is called."""

    def __init__(self, failures: int) -> None:
        self.calls, self._failures = 0, failures

    def __call__(self) -> None:
        self.calls += 1
        assert self.calls > self._failures, f"failure {self.calls}"


def stand_still(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    def leave(witness: Witness, *_: object) -> None:
        witness.stood_still_s = seconds

    monkeypatch.setattr(busy_machine.Witness, "__enter__", lambda witness: witness)
    monkeypatch.setattr(busy_machine.Witness, "__exit__", leave)


def test_a_failure_while_the_machine_ran_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_still(monkeypatch, 0.004)
    check = Check(1)
    with pytest.raises(AssertionError, match="failure 1"):
        where_it_ran(check)
    assert check.calls == 1


def test_a_moment_explains_no_failure_of_a_long_check(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_still(monkeypatch, 0.02)
    times_s = iter([100.0, 105.0])
    monkeypatch.setattr("tests.busy_machine.time.monotonic", lambda: next(times_s))
    with pytest.raises(AssertionError, match="failure 1"):
        where_it_ran(Check(1))


def test_a_failure_while_it_stalled_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_still(monkeypatch, 0.006)
    check = Check(2)
    where_it_ran(check)
    assert check.calls == 3


def test_a_machine_that_always_stalls_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_still(monkeypatch, 0.1)
    check = Check(9)
    with pytest.raises(pytest.skip.Exception, match=r"too busy for exact times: a processor stood still for 0\.100 s"):
        where_it_ran(check, attempts=4)
    assert check.calls == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="taking a processor away needs root")
def test_a_witness_sees_a_processor_that_is_taken_away() -> None:
    with Witness() as witness:
        subprocess.run([sys.executable, "-S", "-c", HOG], check=True)
    assert witness.stood_still_s > 0.04
