"""Tests of real time on a machine that has other guests: judged where it ran, repeated where it stood still meanwhile.

A witness for each processor sleeps for a millisecond at a time, before all else that runs there. What it oversleeps,
nobody else could use either. A failure that this does not explain is a failure; a skip for it is always allowed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn, Self

import pytest

_WITNESS = """
import os, select, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(98))
except PermissionError:
    pass
print("ready", flush=True)
overslept_s, before_s = 0.0, time.monotonic()
while not select.select([0], [], [], 0.001)[0]:
    now_s = time.monotonic()
    overslept_s += max(0.0, now_s - before_s - 0.002)
    before_s = now_s
print(overslept_s)
"""


class Witness:
    """Watches every processor from entry to exit; then knows how long the worst of them stood still in all."""

    stood_still_s = 0.0

    def __enter__(self) -> Self:
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-S", "-c", _WITNESS, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for number in sorted(os.sched_getaffinity(0))
        ]
        for process in self._processes:
            assert process.stdout
            process.stdout.readline()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stood_still_s = max(float(process.communicate(timeout=30)[0]) for process in self._processes)


def too_busy(why: object) -> NoReturn:
    """Skips a test that needs exact times; `conftest.py` knows it by these words."""
    pytest.skip(f"the machine was too busy for exact times: {why}")


_LEAST_S, _LEAST_SHARE = 0.005, 0.005
"""A processor that stands still for less, or for less of the time that a check takes, explains no failure."""


def where_it_ran(check: Callable[[], None], attempts: int = 5) -> None:
    """Makes a check of real time; one that fails while a processor stands still is made again.

    If that is so every time, the test is skipped.
    """
    witness = Witness()
    for _ in range(attempts):
        start_s = time.monotonic()
        try:
            with witness:
                check()
        except AssertionError:
            if witness.stood_still_s < max(_LEAST_S, _LEAST_SHARE * (time.monotonic() - start_s)):
                raise
        else:
            return
    too_busy(f"a processor stood still for {witness.stood_still_s:.3f} s")
