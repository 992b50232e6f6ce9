"""VMTRACE_NO_SKIP=1 turns skips into failures, but for the tests that may be skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
CASES = """
import pytest
from tests.busy_machine import too_busy

def test_plain():
    pytest.skip("no tool")

@pytest.mark.may_skip
def test_allowed():
    pytest.skip("no capture here")

def test_traces(traces):
    pass

def test_of_exact_times():
    too_busy("others used it")

@pytest.mark.xfail(strict=True, reason="known")
def test_expected_failure():
    assert False
"""


@pytest.mark.parametrize(
    ("no_skip", "outcome"),
    [("0", "4 skipped, 1 xfailed"), ("1", "1 failed, 3 skipped, 1 xfailed")],
)
def test_a_skip_is_a_failure_where_skips_are_forbidden(tmp_path: Path, no_skip: str, outcome: str) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    may_skip: may\n")
    (tmp_path / "test_cases.py").write_text(CASES)
    env = os.environ | {"VMTRACE_NO_SKIP": no_skip, "VMTRACE_TRACES": str(tmp_path / "absent")}
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert outcome in done.stdout
    assert done.returncode == int(no_skip)


def test_a_module_skipped_as_a_whole_is_a_failure_too(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_module_anywhere')\n")
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    env = os.environ | {"VMTRACE_NO_SKIP": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert "forbids it: Skipped: could not import 'no_such_module_anywhere'" in done.stdout
    assert done.returncode == 2
