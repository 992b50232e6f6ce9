"""The demo, from transfers to a report: over loopback here, since the emulated path is of the lab's own tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vmtrace.commands.demo import _new_folder
from vmtrace.lab import namespaces

ROOT = Path(__file__).parents[2]
LINES = 40
"""Of a terminal on which all that the demo prints can be read."""


@pytest.mark.slow
@pytest.mark.parametrize("path", ["loopback", pytest.param("lab", marks=pytest.mark.root)])
def test_the_demo_transfers_reports_on_it_and_ends_with_where_the_report_is(tmp_path: Path, path: str) -> None:
    reason = namespaces.missing_requirement() if path == "lab" else None
    if reason is not None:
        pytest.skip(reason)
    way = ["--loopback"] if path == "loopback" else []
    words = [sys.executable, "-m", "vmtrace", "demo", *way, "--out", str(tmp_path / "demo")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    printed = [*done.stderr.splitlines(), *done.stdout.splitlines()]
    assert len(printed) <= LINES, "\n".join(printed)
    assert any(line.startswith("verdict: ") for line in printed)
    place = re.search(r"report, to open in a browser: (\S+)", done.stdout)
    assert place is not None, done.stdout
    assert "limited" in Path(place[1]).read_text(), "the page has the verdict"
    assert list((tmp_path / "demo/run-1/figures").glob("*.png"))


@pytest.mark.slow
def test_each_demo_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "run-7").mkdir()
    (tmp_path / "run-x").mkdir()
    assert _new_folder(tmp_path).name == "run-8"
