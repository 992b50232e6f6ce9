"""How long threads of this program waited for a processor: `/proc/self/task/*/schedstat` (Documentation/scheduler).

That is pressure on this program alone: it has nothing of a processor that is busy with others while all threads here
sleep. A thread takes its count with it when it ends: what came since its last reading is not seen.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from vmtrace.capture.counters.source import Reading, Source, Where


class ThreadDelays:
    """The sum over all threads of this program that were ever seen."""

    def __init__(self, root: Path) -> None:
        self._tasks = root / "proc/self/task"
        self._seen: dict[str, int] = {}
        self._ended_ns = 0

    def seconds(self) -> float | None:
        """Up to now; None where the kernel does not count it."""
        names: list[str] = []
        with suppress(OSError):
            names = os.listdir(self._tasks)  # noqa: PTH208 - names alone
        for name in names:
            waited_ns = self._waited_ns(name)
            if waited_ns is None:
                continue
            before_ns = self._seen.get(name, 0)
            if waited_ns < before_ns:  # another thread has the number now
                self._ended_ns += before_ns
            self._seen[name] = waited_ns
        return (self._ended_ns + sum(self._seen.values())) / 1e9 if self._seen else None

    def _waited_ns(self, name: str) -> int | None:
        with suppress(OSError, ValueError, IndexError):
            return int((self._tasks / name / "schedstat").read_text().split()[1])
        return None


class RunDelay(Source):
    """As a counter of the host."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._delays = ThreadDelays(where.root)

    def read(self) -> Reading:
        """Seconds since the program began, all threads together."""
        waited_s = self._delays.seconds()
        return {} if waited_s is None else {"run_delay_s": waited_s}


SOURCE = RunDelay
