"""How far a fetch is, on standard error, for whoever has waited two seconds."""

import sys
import time
from typing import TextIO

from vmtrace.capture.live_display import RewrittenLine, is_terminal, put

_PATIENCE_S = 2.0
_LINE_EVERY_S = 30.0
"""Where no terminal rewrites a line, as in a log."""


class Progress:
    """Call it with one line at each step. Quiet says nothing ever."""

    def __init__(self, *, wanted: bool = True, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._wanted = wanted
        self._line = RewrittenLine(self._stream) if is_terminal(self._stream) else None
        self._began_s = time.monotonic()
        self._told_s: float | None = None

    def __call__(self, line: str) -> None:
        """Tell a step."""
        now_s = time.monotonic()
        if not self._wanted or now_s - self._began_s < _PATIENCE_S:
            return
        if self._line is not None:
            self._line.show(line)
        elif self._told_s is None or now_s - self._told_s >= _LINE_EVERY_S:
            put(f"{line}\n", self._stream)
            self._told_s = now_s

    def clear(self) -> None:
        """Leave a clean line behind."""
        if self._line is not None:
            self._line.clear()
