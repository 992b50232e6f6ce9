"""The programs of the benchmark, built once for all its tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The bench is run from the repository and not installed; at the end of the path it shadows nothing that is.
sys.path.append(str(ROOT))


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The folder of bench_generate, bench_walk and bench_minimal; no test judges their speed."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    profile = os.environ.get("PROFILE", "quick")
    command = ["cargo", "build", "--quiet", "--profile", profile, "--locked", "--examples", "--package", "vmtrace-core"]
    subprocess.run(command, check=True, cwd=ROOT)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / profile / "examples"
