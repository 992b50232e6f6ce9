"""Running the command as a user does, on captures made in the open (by `tests/analyze/conftest.py`)."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.in_process import run_here
from vmtrace import cli

_spec = importlib.util.spec_from_file_location("captures", Path(__file__).parents[1] / "analyze" / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
_captures = importlib.util.module_from_spec(_spec)
# A dataclass looks its own module up by name.
sys.modules["captures"] = _captures
_spec.loader.exec_module(_captures)

transfer = _captures.transfer
transfer_file = _captures.transfer_file
two_transfers = _captures.two_transfers
new_capture = _captures.new_capture
transfer_into = _captures.transfer_into
new_run = _captures.new_run
small_run = _captures.small_run

Vmtrace = Callable[..., "subprocess.CompletedProcess[str]"]
_OWN = "raise SystemExit('a file of the user was imported')\n"


@pytest.fixture
def own_files(tmp_path: Path) -> Path:
    """A working directory with the user's own modules, of all the names of rooms."""
    for room in ("analyze", "lab", "sender", "providers"):
        (tmp_path / f"{room}.py").write_text(_OWN)
    for room in ("capture", "receiver", "corpus", "cloudwatch"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(_OWN)
    return tmp_path


@pytest.fixture
def vmtrace(tmp_path: Path) -> Vmtrace:
    """Runs `vmtrace` with arguments in a folder of its own; output is text, nothing is a terminal.

    Within this process, unless it is given an input, or a variable that Python reads when it starts.
    """

    def run(
        *arguments: str | Path, stdin: bytes | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        if stdin is None and environment.keys() <= {"COLUMNS"}:
            return run_here(cli.run, arguments, folder=tmp_path, environment=environment)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "vmtrace", *map(str, arguments)],
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            cwd=tmp_path,
            env=os.environ | environment,
            timeout=120,
            check=False,
        )
        said = (part.decode(environment.get("PYTHONIOENCODING", "utf-8")) for part in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(done.args, done.returncode, *said)

    return run
