"""The Python of bare machines, for tests of what must run there."""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def python39() -> str:
    """A Python 3.9 that starts: VMTRACE_PYTHON39, on the path, or kept by pyenv; without one the test is skipped."""
    found = _found()
    if found is None:
        pytest.skip("no Python 3.9 that starts: set VMTRACE_PYTHON39 to one")
    return found


@functools.cache
def _found() -> str | None:
    return next(filter(_starts, _candidates()), None)


def _candidates() -> Iterator[str]:
    yield from filter(None, [os.environ.get("VMTRACE_PYTHON39"), shutil.which("python3.9")])
    # pyenv's shim on the path starts only where its version is chosen.
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from map(str, sorted(kept.glob("3.9.*/bin/python3.9")))


def _starts(python: str) -> bool:
    return subprocess.run([python, "-I", "-c", ""], capture_output=True, check=False, timeout=60).returncode == 0
