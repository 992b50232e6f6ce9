"""What a step costs: read from files like those of the kernel, made in the open, and from this machine."""

import time
from pathlib import Path

import pytest

from vmtrace.providers.kinds.counters import cost, counted, processors

STAT = "cpu  {user} 0 100 {idle} 50 0 10 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def machine(root: Path, *, user: int = 1000, idle: int = 9000, throttled: str = "0", quota: str = "max 100000") -> Path:
    for folder in ("proc/self", "sys/fs/cgroup/a/b"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "proc/stat").write_text(STAT.format(user=user, idle=idle))
    (root / "proc/self/io").write_text("rchar: 5\nread_bytes: 4096\n")
    (root / "proc/self/cgroup").write_text("0::/a/b\n")
    (root / "sys/fs/cgroup/a/cpu.max").write_text(f"{quota}\n")
    (root / "sys/fs/cgroup/a/cpu.stat").write_text(f"usage_usec 1\nthrottled_usec {throttled}\n")
    return root


def test_a_quota_of_a_group_further_out_bounds_the_processors(tmp_path: Path) -> None:
    assert processors(machine(tmp_path / "free")) >= 1
    assert processors(machine(tmp_path / "bound", quota="50000 100000")) == 0.5


def test_a_quota_of_the_first_version_of_groups_counts_too(tmp_path: Path) -> None:
    root = machine(tmp_path)
    (root / "proc/self/cgroup").write_text("3:cpu,cpuacct:/a\n")
    folder = root / "sys/fs/cgroup/cpu,cpuacct/a"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text("25000\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    assert processors(root) == 0.25


def test_shares_are_those_of_the_time_between(tmp_path: Path) -> None:
    before = counted(root=machine(tmp_path, user=1000, idle=9000))
    after = counted(root=machine(tmp_path, user=1300, idle=9100, throttled="1500000"))
    found = cost(before, after, tmp_path)
    assert found.host_share == pytest.approx(0.75)
    assert found.throttled_s == pytest.approx(1.5)
    assert found.disk_read_bytes == 0


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    found = cost(counted(root=tmp_path), counted(root=tmp_path), tmp_path)
    assert (found.host_share, found.throttled_s, found.disk_read_bytes, found.disk_busy_share) == (None,) * 4


def test_work_of_this_process_is_seen() -> None:
    before, ends_s = counted(), time.process_time() + 0.2
    while time.process_time() < ends_s:
        pass
    assert cost(before, counted()).process_cpu_s >= 0.15
