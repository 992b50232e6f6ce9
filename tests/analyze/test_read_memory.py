"""What a process may have, where its groups say nothing and where they do."""

import os
from pathlib import Path

from vmtrace.analyze.read import memory


def test_without_groups_the_machine_and_the_limits_of_the_process_decide(tmp_path: Path) -> None:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory.allowed_bytes(tmp_path) <= machine
    assert memory.half_bytes(tmp_path) == memory.allowed_bytes(tmp_path) // 2


def test_the_least_limit_of_a_group_and_those_above_it_counts(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/one/two"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/one/two\n")
    (group / "memory.max").write_text("max\n")
    (group.parent / "memory.max").write_text("4096\n")
    assert memory.allowed_bytes(tmp_path) == 4096


def test_a_process_that_takes_much_already_may_take_a_quarter_more(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    allowed = memory.allowed_bytes(tmp_path)
    for share, wanted in ((0.1, allowed // 2), (0.6, round(0.85 * allowed))):
        (tmp_path / "proc/self/status").write_text(f"Name:\tpython\nVmRSS:\t{round(share * allowed) >> 10} kB\n")
        assert abs(memory.half_bytes(tmp_path) - wanted) <= 2048
