"""Pressure stall information: how long tasks waited for a processor, memory or a disk: /proc/pressure."""

from __future__ import annotations

import re

from vmtrace.capture.counters.source import Reading, Source, TextFile, Where

RESOURCES = ("cpu", "memory", "io")
_LINE = re.compile(r"^(some|full) .*\btotal=([0-9]+)$", re.MULTILINE)


def parse(resource: str, text: str) -> Reading:
    """The columns of one resource: `some` task waited, `full`: all of them did."""
    return {f"pressure_{resource}_{kind}_s": int(total_us) / 1e6 for kind, total_us in _LINE.findall(text)}


class Pressure(Source):
    """The three files, where the kernel has them (CONFIG_PSI, not switched off)."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._files = {resource: TextFile(where.root / "proc/pressure" / resource) for resource in RESOURCES}

    def read(self) -> Reading:
        """Seconds of waiting since boot."""
        found: Reading = {}
        for resource, file in self._files.items():
            found.update(parse(resource, file.text()))
        return found

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files.values():
            file.close()


SOURCE = Pressure
