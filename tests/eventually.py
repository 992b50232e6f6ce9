"""Waiting for what another thread, process or kernel does: no longer than it takes, and never for ever."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(true: Callable[[], object], within_s: float = 20.0) -> bool:
    """Whether it comes true in time; asked every few milliseconds."""
    deadline_s = time.monotonic() + within_s
    while not true():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.005)
    return True
