"""One name for all: `import vmtrace` is light, and files of a user are never taken for parts of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import vmtrace
from tests.old_python import python39

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
HELP = """
from vmtrace import cli
from vmtrace.commands.rooms import COMMANDS
for name in COMMANDS:
    assert cli.run([name, "--help"]) == 0, name
print("all started")
"""


def run(folder: Path, *words: str | Path) -> str:
    # Not -P: the working directory comes first, as for whoever runs `python -m vmtrace`.
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_engine_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    program = "import sys, vmtrace; print([name for name in sys.modules if name.startswith('vmtrace.')])"
    assert run(tmp_path, "-c", program) == "[]\n"
    assert vmtrace.read(str(SAMPLES / "tls13.pcap")).connections is not None
    assert issubclass(vmtrace.TraceError, Exception)
    assert vmtrace.TraceError.__module__ == "vmtrace.analyze._engine", "where a worker's error is found again"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vmtrace.nothing  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.alone
def test_the_import_takes_sixty_milliseconds_at_most(tmp_path: Path) -> None:
    """Of the processor: what else the machine does is not counted, but for caches that it takes."""
    program = "import time; began_s = time.process_time(); import vmtrace; print(time.process_time() - began_s)"
    assert min(float(run(tmp_path, "-c", program)) for _ in range(10)) <= 0.06


@pytest.mark.slow
def test_every_command_starts_beside_the_users_own_modules(own_files: Path) -> None:
    assert run(own_files, "-c", HELP).endswith("all started\n")


@pytest.mark.slow
def test_captures_are_measured_beside_the_users_own_modules(own_files: Path) -> None:
    run(own_files, "-m", "vmtrace", "analyze", SAMPLES / "tls13.pcap", "--json", "one.json", "--quiet")
    run(own_files, "-m", "vmtrace", "corpus", "analyze", SAMPLES, "--out", "corpus-out", "--workers", "2", "--quiet")
    assert "198.18.1.1:5810" in (own_files / "one.json").read_text()
    assert list((own_files / "corpus-out").iterdir())


@pytest.mark.slow
@pytest.mark.may_skip
def test_the_agents_file_runs_beside_the_users_own_modules(own_files: Path) -> None:
    run(own_files, "-m", "vmtrace", "agent", "--write", "agent.pyz")
    for word in ("send", "receive", "capture", "fetch"):
        command = [python39(), "agent.pyz", word, "--help"]
        done = subprocess.run(command, cwd=own_files, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
