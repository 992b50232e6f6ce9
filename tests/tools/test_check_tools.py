"""Python and Rust are looked for, and what is too old or absent is named with what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(path: Path, python: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{path}:/usr/bin:/bin", "PYTHON": python}
    return subprocess.run(["tools/check-tools"], cwd=ROOT, check=False, capture_output=True, text=True, env=env)


def cargo(folder: Path, version: str) -> Path:
    """A folder with a cargo that says it is of that version."""
    (folder / "cargo").write_text(f"#!/bin/sh\necho 'cargo {version} (abc 2026-01-01)'\n")
    (folder / "cargo").chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["1.88.0", "1.95.0", "2.0.0"])
def test_new_enough_is_fine(tmp_path: Path, version: str) -> None:
    done = run(cargo(tmp_path, version), sys.executable)
    assert done.returncode == 0
    assert f"cargo {version}" in done.stdout


def test_too_old_rust_is_named(tmp_path: Path) -> None:
    done = run(cargo(tmp_path, "1.63.0"), sys.executable)
    assert done.returncode == 1
    assert "cargo here is 1.63.0: rustup update stable" in done.stderr


def test_no_python_is_named(tmp_path: Path) -> None:
    done = run(cargo(tmp_path, "1.95.0"), "")
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
