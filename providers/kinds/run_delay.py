"""How long threads of this process waited for a processor, also those that live for less than a step.

A thread takes its count with it when it ends, so a thread of its own reads them all five times a second.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from vmtrace.capture.counters.run_delay import ThreadDelays

_EVERY_S = 0.2


class RunDelay:
    """Counts while the block lasts."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._delays = ThreadDelays(root)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="run delay", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def seconds(self) -> float | None:
        """Up to now; None where the kernel does not count it."""
        with self._lock:
            return self._delays.seconds()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            self.seconds()
