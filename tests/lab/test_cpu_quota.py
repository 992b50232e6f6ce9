"""A quota holds a program to its share of a processor, and leaves no group behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vmtrace.lab import cpu_quota

BUSY = """
import resource, time
end = time.monotonic() + 2.0
while time.monotonic() < end:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
print((used.ru_utime + used.ru_stime) / 2.0)
"""


@pytest.mark.root
def test_a_program_gets_no_more_than_its_share() -> None:
    reason = cpu_quota.missing_requirement()
    if reason is not None:
        pytest.skip(reason)
    with cpu_quota.quota("test", 0.2) as words:
        group = next(Path("/sys/fs/cgroup").glob("**/vmtrace-test-*"))
        done = subprocess.run([*words, sys.executable, "-c", BUSY], capture_output=True, text=True, check=True)
        throttled = (group / "cpu.stat").read_text()
    used = float(done.stdout)
    assert 0.001 < used < 0.3
    # Where others leave it less than the quota nobody has to stop it.
    assert "nr_throttled 0\n" not in throttled or used < 0.15
    assert not group.exists()


@pytest.mark.root
def test_a_program_that_runs_is_held_with_its_children() -> None:
    reason = cpu_quota.missing_requirement()
    if reason is not None:
        pytest.skip(reason)
    command = [sys.executable, "-c", "import os\nos.fork()\nwhile True: pass"]
    with subprocess.Popen(command) as busy:
        try:
            time.sleep(0.3)
            with cpu_quota.of_running("held", busy.pid, 0.1) as group:
                members = (group / "cgroup.procs").read_text().split()
                ends_s = time.monotonic() + 60
                # The kernel counts a stop when it begins, and its time when it ends.
                while (stops := cpu_quota.throttled(group))[0] < 3 or stops[1] == 0:
                    assert time.monotonic() < ends_s, stops
                    time.sleep(0.1)
        finally:
            children = Path(f"/proc/{busy.pid}/task/{busy.pid}/children").read_text().split()
            for each in (*map(int, children), busy.pid):
                os.kill(each, signal.SIGKILL)
    assert len(members) == 2
    assert not group.exists()
