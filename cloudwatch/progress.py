"""How far a fetch is, on standard error, for whoever has waited two seconds."""

import sys
import time
from typing import TextIO

_PATIENCE_S = 2.0
_LINE_EVERY_S = 30.0
"""Where no terminal rewrites a line, as in a log."""


class Progress:
    """Call it with one line at each step. Quiet says nothing ever."""

    def __init__(self, *, wanted: bool = True, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._wanted = wanted
        self._is_terminal = self._stream.isatty()
        self._began_s = time.monotonic()
        self._told_s: float | None = None
        self._width = 0

    def __call__(self, line: str) -> None:
        """Tell a step."""
        now_s = time.monotonic()
        if not self._wanted or now_s - self._began_s < _PATIENCE_S:
            return
        if self._is_terminal:
            self._rewrite(line)
        elif self._told_s is None or now_s - self._told_s >= _LINE_EVERY_S:
            self._write(f"{line}\n")
            self._told_s = now_s

    def clear(self) -> None:
        """Leave a clean line behind."""
        if self._width:
            self._rewrite("")
            self._write("\r")
            self._width = 0

    def _rewrite(self, line: str) -> None:
        self._write(f"\r{line:<{self._width}}")
        self._width = len(line)

    def _write(self, words: str) -> None:
        try:
            self._stream.write(words)
            self._stream.flush()
        except (OSError, ValueError):  # whoever closed standard error does not want to hear of it
            self._wanted = False
