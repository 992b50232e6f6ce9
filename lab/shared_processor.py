"""A processor that a host's programs share with others, as containers of one machine do.

The programs run on one processor, in a control group of that weight (an unchanged group has 1,024) and, if there is
one, with that quota. Neighbours are processes that compute without a rest on the same processor, in the topmost group.
The kernel itself goes on: what was written is sent, and acknowledgements are taken. Only the program is late.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vmtrace.lab import cpu_quota

_LONGEST_S = 3600
_BUSY = f"import time; ends = time.monotonic() + {_LONGEST_S}\nwhile time.monotonic() < ends: pass"
_WHOLE = 1.0


@dataclass(frozen=True, slots=True)
class SharedProcessor:
    """Who else is there, and what is left to the host's programs."""

    neighbours: int = 0
    weight: int = 1024
    quota: float = 0.0
    """Of the processor, in each period; 0 is none."""
    period_s: float = cpu_quota.PERIOD_S

    @property
    def share(self) -> float:
        """Of the processor, that programs get which never rest."""
        fair = self.weight / (self.weight + 1024 * self.neighbours)
        return min(fair, self.quota or _WHOLE)

    def words(self) -> str:
        """For people."""
        parts = [f"{self.neighbours} busy neighbours" if self.neighbours else "", f"weight {self.weight} of 1,024"]
        parts.append(f"a quota of {self.quota:.0%} of each {self.period_s * 1e3:g} ms" if self.quota else "")
        return f"{', '.join(part for part in parts if part)}: {self.share:.0%} of a processor"


@contextmanager
def shared(settings: SharedProcessor, process_id: int) -> Iterator[Path]:
    """Have a process that runs, and all its children, share the last processor that is allowed; gives its group."""
    processor = max(os.sched_getaffinity(0))
    with ExitStack() as stack:
        group = stack.enter_context(_group(settings, process_id))
        for member in (group / "cgroup.procs").read_text().split():
            for thread in Path(f"/proc/{member}/task").iterdir():
                with suppress(OSError):  # it may have ended
                    os.sched_setaffinity(int(thread.name), {processor})
        for _ in range(settings.neighbours):
            stack.enter_context(_neighbour(processor))
        yield group


def _group(settings: SharedProcessor, process_id: int) -> AbstractContextManager[Path]:
    quota = settings.quota or None
    return cpu_quota.of_running("shared", process_id, quota, settings.weight, settings.period_s)


@contextmanager
def _neighbour(processor: int) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", _BUSY], stdin=subprocess.DEVNULL) as process:
        try:
            os.sched_setaffinity(process.pid, {processor})
            yield
        finally:
            process.kill()
