"""Memory that is left: /proc/meminfo."""

from __future__ import annotations

import re

from vmtrace.capture.counters.source import Reading, Source, TextFile, Where, pick

COLUMNS = {"MemAvailable": "memory_available_bytes", "MemFree": "memory_free_bytes", "SwapFree": "swap_free_bytes"}
_LINE = re.compile(r"^(\w+): +([0-9]+) kB$", re.MULTILINE)


def parse(text: str) -> Reading:
    """The columns of /proc/meminfo."""
    return pick({name: int(kilobytes) * 1024 for name, kilobytes in _LINE.findall(text)}, COLUMNS)


class Memory(Source):
    """/proc/meminfo."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._file = TextFile(where.root / "proc/meminfo")

    def read(self) -> Reading:
        """Bytes that are free now."""
        return parse(self._file.text())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


SOURCE = Memory
