"""Runs of the lab for tests of what reads captures, kept by what made them: scenario, sources, kernel.

A run that was good is made once and then read from the folder of `VMTRACE_LAB_CACHE`, or from `build/lab-cache`. Where
that variable is empty every run is live, as in `make test-long`. Tests of the lab itself run it live always.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from pathlib import Path
from tempfile import mkdtemp

from tests.busy_machine import too_busy
from tests.traces.invariants import contradictions
from vmtrace.analyze.trace import read
from vmtrace.lab.description import Scenario
from vmtrace.lab.scenario import Run, run

ROOT = Path(__file__).parents[1]
# A run is made by these; of the rest of the lab it knows nothing.
SOURCES = ("lab/*.py", "capture/**/*.py")


def lab_run(
    scenario: Scenario, folder: Path, attempts: int = 1, good_enough: Callable[[Run], bool] = attrgetter("good")
) -> Run:
    """As `vmtrace.lab.scenario.run`; what was good enough is kept for the next time. No capture contradicts itself."""
    found = _run(scenario, folder, attempts, good_enough)
    for capture in sorted(folder.glob("*.pcap")):
        assert list(contradictions(read(capture).json())) == [], capture
    return found


def checked_run(scenario: Scenario, folder: Path, check: Callable[[Run], None], attempts: int = 5) -> None:
    """Checks a run. Where the check holds, one that was not good proves as much; where it fails, another is checked.

    If no run was good and the check held of none, the test is skipped.
    """
    problems: object = None
    for number in range(attempts):
        done = lab_run(scenario, folder / str(number))
        try:
            check(done)
        except AssertionError:
            if done.good:
                raise
            problems = done.truth["problems"]
        else:
            return
    too_busy(problems)


def _run(scenario: Scenario, folder: Path, attempts: int, good_enough: Callable[[Run], bool]) -> Run:
    kept = _kept(scenario)
    if kept is not None and (kept / "truth.json").exists():
        found = Run(kept, json.loads((kept / "truth.json").read_text()))
        if good_enough(found):
            shutil.copytree(kept, folder, dirs_exist_ok=True)
            return Run(folder, found.truth)
    done = run(scenario, folder, attempts, good_enough)
    if kept is not None and good_enough(done):
        _keep(folder, kept)
    return done


def _kept(scenario: Scenario) -> Path | None:
    named = os.environ.get("VMTRACE_LAB_CACHE")
    if named == "":
        return None
    shown = f"{scenario!r}\n{platform.release()}\n{sources_digest()}"
    return Path(named or ROOT / "build/lab-cache") / hashlib.sha256(shown.encode()).hexdigest()[:32]


@cache
def sources_digest() -> str:
    """Of every file that has a part in a run."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _keep(folder: Path, kept: Path) -> None:
    """At once or not at all: another worker may look."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    half = Path(mkdtemp(prefix="half-", dir=kept.parent))
    shutil.copytree(folder, half, dirs_exist_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    half.rename(kept)
