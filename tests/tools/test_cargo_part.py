"""A part of cargo that is not installed is skipped with a word, or a failure where skips are forbidden."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/cargo-part"


@pytest.mark.parametrize(("no_skip", "status"), [("0", 0), ("1", 1)])
def test_an_absent_part_is_skipped_or_fails(tmp_path: Path, no_skip: str, status: int) -> None:
    (tmp_path / "cargo").write_text("#!/bin/sh\nexit 101\n")
    (tmp_path / "cargo").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:/usr/bin:/bin", "VMTRACE_NO_SKIP": no_skip}
    done = subprocess.run([str(SCRIPT), "fmt", "fmt", "--check"], check=False, capture_output=True, text=True, env=env)
    assert done.stdout == "skipped: cargo fmt is not installed (rustup component add rustfmt)\n"
    assert done.returncode == status


def test_a_part_that_is_there_is_run_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "cargo").write_text('#!/bin/sh\necho "ran $*"\n')
    (tmp_path / "cargo").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run([str(SCRIPT), "clippy", "clippy", "-q"], check=False, capture_output=True, text=True, env=env)
    assert done.stdout == "ran clippy -q\n"
