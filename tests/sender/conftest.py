"""Run folders with small plans, and a campaign that a test can break as it likes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# For the helpers beside the tests; at the end of the path it shadows nothing that is installed.
sys.path.append(str(Path(__file__).parents[2]))

from vmtrace.sender.plan import Entry, Plan, TransferPlan
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.settings import Settings

PLAN = Plan(
    "small",
    (Entry("I_0", 2, TransferPlan(10), TransferPlan(100), 0.5), Entry("I_1", 1, TransferPlan(20), TransferPlan(200))),
)


@pytest.fixture
def plan() -> Plan:
    """Three pairs in two entries."""
    return PLAN


@pytest.fixture
def new_run(tmp_path: Path, plan: Plan) -> Iterator[Callable[..., RunFolder]]:
    """Makes run folders, and gives them back at the end."""
    made: list[RunFolder] = []

    def make(plan: Plan = plan, settings: Settings | None = None, begun: bool = True) -> RunFolder:
        folder = RunFolder.create(
            tmp_path / f"run{len(made)}", plan, settings or Settings(ping=False), "vmtrace send", None
        )
        made.append(folder)
        if begun:
            folder.begin_session(1_000)
            folder.note(id="0" * 32)
        return folder

    yield make
    for folder in made:
        folder.close()
