"""The demo, from transfers to a report: over loopback as it is, over the emulated path with a plan of two pairs.

The whole of it over the emulated path is a test of `make test-long`. Over loopback it is made where the user has own
modules of the rooms' names.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cut import cut
from tests.in_process import vmtrace_here
from vmtrace.commands import demo
from vmtrace.commands.demo import _new_folder
from vmtrace.lab import namespaces

ROOT = Path(__file__).parents[2]
LINES = 40
"""Of a terminal on which all that the demo prints can be read."""
SHORT = """
name = "short"
repeat = {repeat}

[[entries]]
index = "I_0"
pairs = 2
probe = {{ bytes = "16 KiB" }}
data = {{ bytes = "800 KiB" }}
"""


def assert_is_whole(folder: Path, done: "subprocess.CompletedProcess[str]") -> None:
    """All of the story is there: the verdict, the page that has it, figures."""
    assert done.returncode == 0, done.stderr
    printed = [*done.stderr.splitlines(), *done.stdout.splitlines()]
    assert len(printed) <= LINES, "\n".join(printed)
    assert any(line.startswith("verdict: ") for line in printed)
    place = re.search(r"(\S+\.html)$", done.stdout, re.MULTILINE)
    assert place is not None, done.stdout
    assert "limited" in (folder / place[1]).read_text(), "the page has the verdict"
    assert list((folder / "demo/run-1/figures").glob("*.png"))


@pytest.mark.slow
def test_the_demo_transfers_and_reports_beside_the_users_own_modules(own_files: Path) -> None:
    # Not -P: the working directory comes first, as for whoever runs `python -m vmtrace`.
    words = [sys.executable, "-m", "vmtrace", "demo", "--loopback", "--out", "demo"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words, cwd=own_files, env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert_is_whole(own_files, done)


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("plan", cut([SHORT, demo._PLAN], 1), ids=["short", "whole"])
def test_over_the_emulated_path_it_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str) -> None:
    reason = namespaces.missing_requirement()
    if reason is not None:
        pytest.skip(reason)
    monkeypatch.setattr(demo, "_PLAN", plan)
    done = vmtrace_here("demo", "--out", tmp_path / "demo")
    assert "over loopback" not in done.stdout
    assert_is_whole(tmp_path, done)


@pytest.mark.slow
def test_each_demo_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "run-7").mkdir()
    (tmp_path / "run-x").mkdir()
    assert _new_folder(tmp_path).name == "run-8"
