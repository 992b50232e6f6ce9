"""CPU quota of a container or service: how long the kernel kept this program's control groups from running (cpu.stat).

The program's own group and all above it count, since a quota of any of them stops it. Versions 1 and 2 of control
groups (Documentation/admin-guide/cgroup-v1/, cgroup-v2.rst).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vmtrace.capture.counters.source import Reading, Source, TextFile, Where

_MOST_LEVELS = 32
_GROUP = re.compile(r"^[0-9]+:([^:\n]*):/(.*)$", re.MULTILINE)
_COUNT = re.compile(r"^(nr_throttled|throttled_usec|throttled_time) ([0-9]{1,19})$", re.MULTILINE)


def parse(text: str) -> Reading:
    """The columns of one group; none where no quota can be set, as in the topmost one."""
    found = {name: int(value) for name, value in _COUNT.findall(text)}
    columns: Reading = {}
    if "nr_throttled" in found:
        columns["throttled_periods"] = found["nr_throttled"]
    if "throttled_usec" in found or "throttled_time" in found:
        columns["throttled_s"] = found.get("throttled_usec", 0) / 1e6 + found.get("throttled_time", 0) / 1e9
    return columns


def group_folders(own: str, root: Path) -> Iterator[Path]:
    """Where the groups that know the processor may be, the innermost first; `own` is /proc/self/cgroup.

    A container often sees its own group as the topmost one, so that only the last of the folders is there.
    """
    groups = root / "sys/fs/cgroup"
    for controllers, path in _GROUP.findall(own):
        bases = [groups / controllers] if "cpu" in controllers.split(",") else []
        if not controllers:
            bases = [groups, groups / "unified"]
        inside = Path(*[part for part in path.split("/") if part not in ("", "..")][:_MOST_LEVELS])
        for base in bases:
            yield from (base / part for part in (inside, *inside.parents))


class Throttled(Source):
    """The sum over all groups of the program."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        own = TextFile(where.root / "proc/self/cgroup")
        self._files = [TextFile(folder / "cpu.stat") for folder in group_folders(own.text(), where.root)]
        own.close()

    def read(self) -> Reading:
        """Periods in which a group's quota was used up, and seconds without a processor for that, since it was made."""
        found: Reading = {}
        for file in self._files:
            for column, value in parse(file.text()).items():
                found[column] = found.get(column, 0) + value
        return found

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files:
            file.close()


SOURCE = Throttled
