"""What a receiver tells its user: one line for each event, for people or as JSON lines for programs."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

_HOSTILE_EVENTS = 30
_HOSTILE_EVENTS_S = 60.0


class Log:
    """Writes to standard output. Usable from several threads; a reader that has gone away is no trouble."""

    def __init__(self, *, json_lines: bool = False, quiet: bool = False) -> None:
        self._json_lines = json_lines
        self._quiet = quiet
        self._lock = threading.Lock()
        self._hostile_since_s = time.monotonic()
        self._hostile = 0

    def event(self, name: str, text: str, **facts: Any) -> None:
        """Tell of an event: `text` for people, `name` and `facts` for programs."""
        if self._json_lines:
            line = json.dumps({"event": name, "time_ns": time.time_ns(), **facts})
        elif self._quiet and name != "listening":
            return
        else:
            line = text
        with self._lock:
            try:
                print(line, flush=True)
            except (OSError, ValueError):
                return

    def hostile(self, name: str, text: str, **facts: Any) -> None:
        """Tell of what anybody on the network can cause: a few each minute, then how many more there were, so that
        nobody there can fill a disk."""
        now_s = time.monotonic()
        with self._lock:
            missed = 0
            if now_s - self._hostile_since_s >= _HOSTILE_EVENTS_S:
                missed = max(0, self._hostile - _HOSTILE_EVENTS)
                self._hostile_since_s, self._hostile = now_s, 0
            self._hostile += 1
            silent = self._hostile > _HOSTILE_EVENTS
        if not silent:
            self.event(name, f"{text} (and {missed} more such events before)" if missed else text, **facts)

    def trouble(self, text: str) -> None:
        """Tell of trouble that does not end the receiver, on standard error."""
        with self._lock:
            try:
                print(f"vmtrace: {text}", file=sys.stderr, flush=True)
            except (OSError, ValueError):
                return
