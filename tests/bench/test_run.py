"""A quick run of the benchmark: the ratios exist, the answers are true, and the floor is a loose one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_quick_run_gives_ratios_and_true_answers(binaries: Path) -> None:
    words = ["--quick", "--only", "few", "--only", "short", "--binaries", str(binaries)]
    command = [sys.executable, "-m", "bench.run", *words]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(command, check=False, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((ROOT / "build/bench/results.json").read_text())
    assert results["wrong"] == []
    cpu = {(row["capture"], row["program"]): row["cost"]["cpu_s"] / row["packets"] for row in results["rows"]}
    for capture in ("few", "short"):
        assert cpu[capture, "dpkt loop"] > 2 * cpu[capture, "vmtrace"]
        if (capture, "tshark conv,tcp") in cpu:
            assert cpu[capture, "tshark conv,tcp"] > 3 * cpu[capture, "vmtrace"]
