"""A processor quota for a program, as containers and small instances have it: so much of a processor in each period.

By the kernel's control groups, version 1 or 2. Stops of a quota have a period that no path has (100 ms by default).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vmtrace.capture.counters.throttled import parse

PERIOD_S = 0.1
_VERSION_1 = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup/cpu,cpuacct"))
_VERSION_2 = Path("/sys/fs/cgroup")


def missing_requirement() -> str | None:
    """Why no quota can be set here, or None."""
    if os.geteuid() != 0:
        return "a processor quota needs root"
    return None if _parent() is not None else "this machine has no control group for processors that may be made"


@contextmanager
def quota(name: str, share: float | None, period_s: float = PERIOD_S, weight: int | None = None) -> Iterator[list[str]]:
    """Words to put before a command, which then gets `share` of one processor in each period; None is no quota.

    With a weight (1,024 is usual) it gets that much beside what others want.

    The group has a name of its own and is removed at the end; processes left in it move to the parent. Raises
    `OSError` where the kernel refuses.
    """
    parent = _parent()
    if parent is None:
        raise OSError(missing_requirement())
    group = parent / f"vmtrace-{name}-{os.getpid()}"
    group.mkdir()
    try:
        if share is not None:
            _set_quota(group, round(share * period_s * 1e6), round(period_s * 1e6))
        if weight is not None:
            _set_weight(group, weight)
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "quota"]
    finally:
        for process in (group / "cgroup.procs").read_text().split():
            with suppress(OSError):  # it may have ended
                (parent / "cgroup.procs").write_text(process)
        with suppress(OSError):
            group.rmdir()


@contextmanager
def of_running(
    name: str, process_id: int, share: float | None, weight: int | None = None, period_s: float = PERIOD_S
) -> Iterator[Path]:
    """The same for a process that runs already, and for all its children; gives the folder of the group."""
    with quota(name, share, period_s, weight) as words:
        group = Path(words[2].partition("> ")[2].partition("/cgroup.procs")[0])
        for each in (process_id, *_descendants(process_id)):
            with suppress(OSError):  # it may have ended
                (group / "cgroup.procs").write_text(str(each))
        yield group


def _set_quota(group: Path, quota_us: int, period_us: int) -> None:
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:
        (group / "cpu.max").write_text(f"{quota_us} {period_us}")


def _set_weight(group: Path, weight: int) -> None:
    """As shares (version 1), or on the scale of version 2, whose 100 are 1,024 of them."""
    if (group / "cpu.shares").exists():
        (group / "cpu.shares").write_text(str(weight))
    else:
        (group / "cpu.weight").write_text(str(max(1, round(weight * 100 / 1024))))


def throttled(group: Path) -> tuple[int, float]:
    """How often a group was stopped because its quota was used up, and for how long in all, seconds."""
    counts = parse((group / "cpu.stat").read_text())
    return int(counts["throttled_periods"]), counts["throttled_s"]


def _descendants(process_id: int) -> Iterator[int]:
    for task in Path(f"/proc/{process_id}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from _descendants(child)


def visible_again() -> list[str]:
    """Words before a command in a network namespace: `ip netns exec` gives it a `/sys` without control groups."""
    folder = str(_VERSION_2)
    if _parent() == _VERSION_2:
        mounts = f"mount -t cgroup2 none {folder}"
    else:
        mounts = f"mount -t tmpfs none {folder} && mkdir {folder}/cpu && mount -t cgroup -o cpu none {folder}/cpu"
    return ["sh", "-c", f'{mounts} && exec "$@"', "visible"]


def _parent() -> Path | None:
    """Where a group can be made whose quota counts."""
    for folder in _VERSION_1:
        if (folder / "cpu.cfs_quota_us").exists() or (folder / "cpu.shares").exists():
            return folder
    control = _VERSION_2 / "cgroup.subtree_control"
    if control.exists() and "cpu" in control.read_text().split():
        return _VERSION_2
    return None
