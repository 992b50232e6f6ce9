"""`python -m vmtrace.lab` is the command `vmtrace lab`."""

import subprocess
import sys

from vmtrace.lab.hosts import module_environment


def test_the_module_runs_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vmtrace.lab", "list"],
        check=False,
        capture_output=True,
        text=True,
        env=module_environment(),
    )
    assert done.returncode == 0
    assert "ec2-micro-to-campus" in done.stdout
