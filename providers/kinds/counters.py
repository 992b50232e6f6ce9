"""What a step of a campaign cost this host: processor time of the process and of all, quotas, and reads from disk.

Sources: times(2), proc(5) (`/proc/stat`, `/proc/self/io`, `/proc/diskstats`), the kernel's cgroup v1 and v2 documents
(`cpu.cfs_quota_us`, `cpu.max`, `cpu.stat`). What cannot be read is None.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.capture.counters.throttled import group_folders, parse

_ROOT = Path("/")
_BUSY = slice(0, 8)  # user to steal; guest time is part of user
_IDLE = (3, 4)  # idle and iowait
_IO_MS = 12
"""Field of /proc/diskstats: time with at least one request under way."""


@dataclass(frozen=True, slots=True)
class Counters:
    """At one moment; all of them only grow."""

    at_s: float
    process_s: float
    host_busy_s: float | None
    host_s: float | None
    throttled_s: float | None
    read_bytes: int | None
    disk_busy_s: float | None
    run_delay_s: float | None = None
    """Of this process's threads (`run_delay`)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Between two moments."""

    duration_s: float
    processors: float
    """That this process may use: its affinity, or less by a quota."""
    process_cpu_s: float
    process_share: float
    """Of what it may use."""
    host_share: float | None
    """Of all processors of the host that were busy."""
    throttled_s: float | None
    """Time in which a quota kept the process from running."""
    disk_read_bytes: int | None
    """That came from a device, not from the page cache."""
    disk_busy_share: float | None
    run_delay_s: float | None = None
    """Time that threads of this process waited for a processor, all together."""

    def as_record(self) -> dict[str, Any]:
        """For a line of JSON."""
        return asdict(self)


def counted(source: Path | None = None, root: Path = _ROOT, run_delay_s: float | None = None) -> Counters:
    """Now. `source` is a file on the disk that is of interest, `run_delay_s` the count of `RunDelay`."""
    times = os.times()
    busy_s, all_s = _host(_text(root / "proc/stat"))
    return Counters(
        time.monotonic(),
        times.user + times.system,
        busy_s,
        all_s,
        _throttled_s(root),
        _field(_text(root / "proc/self/io"), "read_bytes"),
        None if source is None else _disk_busy_s(source, root),
        run_delay_s,
    )


def cost(before: Counters, after: Counters, root: Path = _ROOT) -> Cost:
    """What lies between."""
    took_s = max(after.at_s - before.at_s, 1e-9)
    allowed = processors(root)
    cpu_s = after.process_s - before.process_s
    busy_s, host_s = _grown(before.host_busy_s, after.host_busy_s), _grown(before.host_s, after.host_s)
    disk_s = _grown(before.disk_busy_s, after.disk_busy_s)
    read = _grown(before.read_bytes, after.read_bytes)
    return Cost(
        took_s,
        allowed,
        cpu_s,
        cpu_s / took_s / allowed,
        busy_s / host_s if busy_s is not None and host_s else None,
        _grown(before.throttled_s, after.throttled_s),
        None if read is None else int(read),
        None if disk_s is None else min(1.0, disk_s / took_s),
        _grown(before.run_delay_s, after.run_delay_s),
    )


def processors(root: Path = _ROOT) -> float:
    """How many this process may use at once."""
    quotas = [quota for folder in _cpu_folders(root) if (quota := _quota(folder)) is not None]
    return min([float(len(os.sched_getaffinity(0))), *quotas])


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None or after < before else after - before


def _host(text: str) -> tuple[float | None, float | None]:
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["cpu"] and len(words) >= 6 and all(word.isdigit() for word in words[1:]):
            ticks = [int(word) for word in words[1:]][_BUSY]
            tick_s = 1 / os.sysconf("SC_CLK_TCK")
            idle = sum(ticks[place] for place in _IDLE)
            return (sum(ticks) - idle) * tick_s, sum(ticks) * tick_s
    return None, None


def _cpu_folders(root: Path) -> Iterator[Path]:
    """The groups of this process that may bound its processor time, from the innermost out."""
    return group_folders(_text(root / "proc/self/cgroup"), root)


def _quota(folder: Path) -> float | None:
    words = _text(folder / "cpu.max").split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
        return int(words[0]) / int(words[1])
    quota, period = (_text(folder / f"cpu.cfs_{what}_us").strip() for what in ("quota", "period"))
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _throttled_s(root: Path) -> float | None:
    found = [parse(_text(folder / "cpu.stat")).get("throttled_s") for folder in _cpu_folders(root)]
    known = [time_s for time_s in found if time_s is not None]
    return sum(known) if known else None


def _field(text: str, name: str) -> int | None:
    for line in text.splitlines():
        key, _, value = line.replace(":", " ").partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return None


def _disk_busy_s(source: Path, root: Path) -> float | None:
    try:
        device = source.stat().st_dev
    except OSError:
        return None
    for line in _text(root / "proc/diskstats").splitlines():
        words = line.split()
        if words[:2] == [str(os.major(device)), str(os.minor(device))] and len(words) > _IO_MS:
            return int(words[_IO_MS]) / 1e3
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
