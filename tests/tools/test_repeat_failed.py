"""What failed is run up to twice more, alone: an accident passes and is named, a defect fails every time."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[2] / "tools/repeat_failed.py"
ACCIDENT = """
import pathlib
def test_accident():
    seen = pathlib.Path("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError
"""
TWO_ACCIDENTS = """
import pathlib
def test_two_accidents():
    seen = pathlib.Path("seen_twice")
    before = seen.read_text() if seen.exists() else ""
    seen.write_text(before + "x")
    assert len(before) == 2
"""
DEFECT = "def test_defect():\n    raise AssertionError\n"
SOUND = "def test_sound():\n    with open('runs', 'a') as file: file.write('x')\n"


def run(folder: Path, most: int, *tests: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text("\n".join(tests))
    command = [sys.executable, str(SCRIPT), str(most), sys.executable, "-m", "pytest", "-q", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_an_accident_passes_when_repeated_and_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, 2, ACCIDENT, SOUND)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("failed once, passed when repeated: test_it.py::test_accident\n")
    assert (tmp_path / "runs").read_text() == "x", "what passed is not repeated"


def test_what_fails_twice_has_one_more_try_and_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, 2, TWO_ACCIDENTS, ACCIDENT)
    assert done.returncode == 0, done.stdout
    assert "failed twice, passed when repeated: test_it.py::test_two_accidents\n" in done.stdout
    assert "failed once, passed when repeated: test_it.py::test_accident\n" in done.stdout


def test_a_defect_fails_again_whatever_else_was_an_accident(tmp_path: Path) -> None:
    done = run(tmp_path, 2, ACCIDENT, DEFECT)
    assert done.returncode == 1
    assert "passed when repeated" not in done.stdout


def test_more_failures_than_accidents_are_not_repeated(tmp_path: Path) -> None:
    done = run(tmp_path, 1, ACCIDENT, DEFECT)
    assert done.returncode == 1
    assert done.stdout.endswith("failed 2 tests, more than 1: not repeated\n")


def test_nothing_is_repeated_where_nothing_failed(tmp_path: Path) -> None:
    done = run(tmp_path, 1, SOUND)
    assert done.returncode == 0
    assert (tmp_path / "runs").read_text() == "x"


def test_tests_that_cannot_be_collected_are_an_error_at_once(tmp_path: Path) -> None:
    done = run(tmp_path, 1, "import nothing_of_that_name", SOUND)
    assert done.returncode == 2
    assert "once more" not in done.stdout


def test_what_failed_side_by_side_is_repeated_alone(tmp_path: Path) -> None:
    done = run(tmp_path, 2, ACCIDENT, SOUND, options=("-n", "2"))
    assert done.returncode == 0, done.stdout
    first, again = done.stdout.split("== pytest once more")
    assert "bringing up nodes" in first
    assert "bringing up nodes" not in again
    assert done.stdout.endswith("failed once, passed when repeated: test_it.py::test_accident\n")
