"""Load averages and how many tasks there are: /proc/loadavg."""

from __future__ import annotations

import re

from vmtrace.capture.counters.source import Reading, Source, TextFile, Where

_LINE = re.compile(r"^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+) (\d+)/(\d+) ", re.ASCII)


def parse(text: str) -> Reading:
    """The columns of /proc/loadavg."""
    match = _LINE.match(text)
    if match is None:
        return {}
    one, five, fifteen, runnable, tasks = match.groups()
    return {
        "load_1min": float(one),
        "load_5min": float(five),
        "load_15min": float(fifteen),
        "tasks_runnable": int(runnable),
        "tasks": int(tasks),
    }


class Load(Source):
    """/proc/loadavg."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._file = TextFile(where.root / "proc/loadavg")

    def read(self) -> Reading:
        """Averages as the kernel keeps them."""
        return parse(self._file.text())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


SOURCE = Load
