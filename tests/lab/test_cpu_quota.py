"""A quota holds a program to its share of a processor, and leaves no group behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab import cpu_quota

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
    assert 0.01 < float(done.stdout) < 0.3
    assert "nr_throttled 0\n" not in throttled
    assert not group.exists()
