"""The runner of the fuzz targets: what it can run, that it fails when a target does, and that one line says why."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


UNIT = "artifact_prefix='a/'; Test unit written to a/unit"
RUNS = ("#9\tNEW    cov: 7 ft: 8 corp: 2/3b", "stat::number_of_executed_units: 9")
PANIC = (
    "thread '<unnamed>' (7) panicked at src/lib.rs:22:9:",
    "the sizes of reads decide",
    "==7== ERROR: libFuzzer: deadly signal",
)
SLOW = "artifact_prefix='a/'; Test unit written to a/slow-unit"
TIMEOUT = (
    SLOW,
    "ALARM: working on the last Unit for 14 seconds",
    UNIT,
    "==7== ERROR: libFuzzer: timeout after 14 seconds",
    *RUNS,
)
MEMORY = ("==7== ERROR: libFuzzer: out-of-memory (used: 1030Mb; limit: 1024Mb)", UNIT, *RUNS)


def fuzzed(folder: Path, *, said: tuple[str, ...], end: str, alone: str = "exit 0") -> tuple[int, str]:
    """Exit status, and the line of a target that says this and ends so; `alone` is how it ends with its one input."""
    for name, script in {
        "home/.cargo/bin/cargo": "exit 0",
        "home/.cargo/bin/c++": "exit 0",
        "home/.cargo/bin/rustc": "echo host: here",
        "built/fuzz/here/release/one": (
            'case "$*" in\n'
            f"*-max_total_time=*) cat <<'END'\n{chr(10).join(said)}\nEND\n{end} ;;\n"
            f'*) echo "$(ulimit -t) s, ${{@: -1}}"; {alone} ;;\nesac'
        ),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"#!/bin/bash\n{script}\n")
        (folder / name).chmod(0o755)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools/fuzz", folder / "tools")
    (folder / "tools/fuzz_seeds.py").touch()
    (folder / "analyze/engine/fuzz").mkdir(parents=True)
    (folder / "analyze/engine/fuzz/Cargo.toml").write_text('path = "targets/one.rs"\n')
    changed = {"HOME": folder / "home", "CARGO_TARGET_DIR": folder / "built", "VMTRACE_PYTHON": sys.executable}
    environment = os.environ | {name: str(value) for name, value in changed.items()}
    done = subprocess.run([folder / "tools/fuzz"], check=False, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("said", "end", "line"),
    [
        (PANIC, "exit 77", "panicked at src/lib.rs:22:9: the sizes of reads decide"),
        ((*PANIC, UNIT), "exit 77", f"panicked at src/lib.rs:22:9: {PANIC[1]} (not when the input is run alone)"),
        (MEMORY, "exit 71", "out of memory (not when the input is run alone)"),
        (RUNS, "kill -KILL $$", "ended by signal 9"),
        (("x: not found",), "exit 127", "status 127, x: not found"),
        (
            ("ERROR: no interesting inputs", "==7== ERROR: libFuzzer: y", "z"),
            "exit 1",
            "status 1, ==7== ERROR: libFuzzer: y",
        ),
    ],
)
def test_the_line_of_a_target_that_fails_says_why(tmp_path: Path, said: tuple[str, ...], end: str, line: str) -> None:
    assert fuzzed(tmp_path, said=said, end=end) == (1, f"fuzz one: FAILED: {line}")


def test_an_input_that_takes_too_long_alone_too_is_a_finding(tmp_path: Path) -> None:
    found = fuzzed(tmp_path, said=TIMEOUT, end="exit 70", alone="kill -XCPU $$")
    assert found == (1, "fuzz one: FAILED: timeout (again when the input is run alone)")


def test_a_stalled_machine_is_no_finding_and_is_said(tmp_path: Path) -> None:
    line = "fuzz one: 9 runs, 7 edges, nothing found: what took too long does not when alone, a/unit"
    assert fuzzed(tmp_path, said=TIMEOUT, end="exit 70") == (0, line)


def test_alone_an_input_may_use_ten_seconds_of_a_processor(tmp_path: Path) -> None:
    fuzzed(tmp_path, said=TIMEOUT, end="exit 70")
    assert (tmp_path / "build/fuzz/one.log.alone").read_text() == "10 s, a/unit\n"


def test_a_target_that_finds_nothing_says_how_much_it_tried(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, said=RUNS, end="exit 0") == (0, "fuzz one: 9 runs, 7 edges, nothing found")
