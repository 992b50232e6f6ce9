"""What a receiver tells its user: one line for each event, for people or as JSON lines for programs."""

from __future__ import annotations

import json
import select
import sys
import threading
import time
from typing import Any, TextIO

_HOSTILE_EVENTS = 30
_HOSTILE_EVENTS_S = 60.0
_LONGEST_LINE = select.PIPE_BUF - 1


class Log:
    """Writes to standard output. Usable from several threads; a reader that has gone away, or does not read, is no
    trouble: what finds a full pipe is left out and counted, because whoever tells of a transfer also serves it."""

    def __init__(self, *, json_lines: bool = False, quiet: bool = False) -> None:
        self._json_lines = json_lines
        self._quiet = quiet
        self._lock = threading.Lock()
        self._hostile_since_s = time.monotonic()
        self._hostile = 0
        self._left_out = 0

    def event(self, name: str, text: str, **facts: Any) -> None:
        """Tell of an event: `text` for people, `name` and `facts` for programs."""
        if self._json_lines:
            line = json.dumps({"event": name, "time_ns": time.time_ns(), **facts})
        elif self._quiet and name != "listening":
            return
        else:
            line = text
        with self._lock:
            if not _takes(sys.stdout):
                self._left_out += 1
                return
            if self._left_out:
                line = f"{self._told_of_gap()}\n{line}"
            try:
                print(line[:_LONGEST_LINE], flush=True)
            except (OSError, ValueError):
                return

    def _told_of_gap(self) -> str:
        count, self._left_out = self._left_out, 0
        if self._json_lines:
            return json.dumps({"event": "left_out", "time_ns": time.time_ns(), "events": count})
        return f"({count} earlier events were left out: nobody read them)"

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


def _takes(stream: TextIO) -> bool:
    """Whether a line can be written without waiting for a reader (pipe(7): then PIPE_BUF bytes fit)."""
    try:
        return bool(select.select([], [stream.fileno()], [], 0)[1])
    except (OSError, ValueError):
        return True  # not a file of the system, or closed: writing to it does not wait
