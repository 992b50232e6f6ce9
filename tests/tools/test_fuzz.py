"""The runner of the fuzz targets: what it can run, and that it fails when a target does."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = os.environ | ({"PATH": path, "HOME": "/nonexistent"} if path else {})
    return subprocess.run([str(ROOT / "tools/fuzz"), *arguments], check=False, capture_output=True, text=True, env=env)


def test_it_lists_a_target_for_each_file() -> None:
    files = {path.stem for path in (ROOT / "analyze/engine/fuzz/targets").glob("*.rs")}
    assert set(run("--list").stdout.split()) == files
    assert len(files) >= 8


def test_an_unknown_target_or_option_is_wrong_usage() -> None:
    assert run("no_such_target").returncode == 2
    assert run("--dance").returncode == 2


def test_without_a_compiler_it_says_what_is_skipped(tmp_path: Path) -> None:
    for tool in ("bash", "dirname", "sed", "env"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    done = run("tcp_options", path=str(tmp_path))
    assert done.stdout.startswith("skipped: fuzzing: no C++ compiler")
