"""No damaged capture crashes or hangs the engine, takes more memory than it may, or makes it contradict itself.

CI tries ten variants of each file, `make test-long` sixty. VMTRACE_STRENGTH_VARIANTS sets how many are tried at once
(10, then 50), VMTRACE_SEED the first seed (1).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cut import cut

ROOT = Path(__file__).parents[2]

FIRST_SEED = int(os.environ.get("VMTRACE_SEED", "1"))
FEW = int(os.environ.get("VMTRACE_STRENGTH_VARIANTS", "10"))
MORE = int(os.environ.get("VMTRACE_STRENGTH_VARIANTS", "50"))
SECONDS_FOR_A_VARIANT = 10
# The interpreter, the largest file three times over, and the engine's own bound.
PEAK_MIB = 300

# Runs the words that follow and prints what they cost at the end: the peak of a child is known only to its parent, and
# must not begin with the size of pytest.
MEASURE = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print("\\n" + json.dumps({"status": os.waitstatus_to_exitcode(status), "peak_kib": usage.ru_maxrss}))
"""


def run(command: list[str], seconds: float) -> tuple[int, float, str, str]:
    """Exit status, peak memory in MiB, output and errors of a command, which is ended after `seconds`."""
    measured = [sys.executable, "-I", "-c", MEASURE, *command]
    with subprocess.Popen(
        measured,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        process_group=0,
    ) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            pytest.fail(f"no end after {seconds} s; the last it said: {output[-300:]}")
    output, _, cost = output.rstrip().rpartition("\n")
    figures = json.loads(cost)
    return figures["status"], figures["peak_kib"] / 1024, output, errors


@pytest.mark.parametrize(("first_seed", "variants"), cut([(FIRST_SEED, FEW), (FIRST_SEED + FEW, MORE)], 1))
def test_any_damage_gives_a_result_or_a_clear_error(any_capture: Path, first_seed: int, variants: int) -> None:
    command = [sys.executable, "-m", "tests.strength.damage", str(any_capture), str(first_seed), str(variants)]
    status, peak_mib, output, errors = run(command, 30 + SECONDS_FOR_A_VARIANT * variants)
    last = output.rstrip().splitlines()[-1] if output.strip() else ""
    assert (status, last) == (0, "done"), f"{any_capture.name}, {last}: status {status}\n{errors[-3000:]}"
    assert "\\n" not in output, "an error of several lines"
    assert peak_mib < PEAK_MIB


@pytest.mark.parametrize("end", cut([0.61, 1.0, 0.13], 1), ids=["cut late", "whole", "cut early"])
def test_the_command_gives_a_result_or_one_line(any_capture: Path, end: float, tmp_path: Path) -> None:
    data = any_capture.read_bytes()
    file, out = tmp_path / any_capture.name, tmp_path / "out.json"
    file.write_bytes(data[: int(len(data) * end)])
    vmtrace = str(Path(sys.executable).with_name("vmtrace"))
    status, peak_mib, _, errors = run([vmtrace, "analyze", str(file), "--json", str(out)], 60)
    assert status in {0, 1}
    assert "Traceback" not in errors
    assert "panicked" not in errors
    if status == 0:
        assert json.loads(out.read_text())["schema"] == "vmtrace.analysis/1"
    else:
        assert [line for line in errors.splitlines() if line.startswith("vmtrace: ")]
        assert len(errors.splitlines()) == 1
    assert peak_mib < PEAK_MIB
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        {file.name} | ({"out.json"} if out.exists() else set())
    )
