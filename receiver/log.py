"""What a receiver tells its user: one line for each event, for people or as JSON lines for programs."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any


class Log:
    """Writes to standard output. Usable from several threads; a reader that has gone away is no trouble."""

    def __init__(self, *, json_lines: bool = False, quiet: bool = False) -> None:
        self._json_lines = json_lines
        self._quiet = quiet
        self._lock = threading.Lock()

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

    def trouble(self, text: str) -> None:
        """Tell of trouble that does not end the receiver, on standard error."""
        with self._lock:
            try:
                print(f"vmtrace: {text}", file=sys.stderr, flush=True)
            except (OSError, ValueError):
                return
