"""How far a discovery run is: lines on standard error, and a line that changes where that is a terminal."""

import sys
import time
from contextlib import suppress

_EVERY_S = 1.0
_PLAIN_EVERY_S = 10.0


class Display:
    """Shows steps; by itself nothing."""

    def step(self, text: str) -> None:
        """Something begins or is over."""

    def progress(self, text: str) -> None:
        """How far the step is; shown now and then."""

    def ended(self) -> None:
        """Nothing more comes."""


class LineDisplay(Display):
    """On standard error."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._every_s = _EVERY_S if self._terminal else _PLAIN_EVERY_S
        self._shown_s = time.monotonic()
        self._open = False

    def step(self, text: str) -> None:
        """A line of its own."""
        self._write(f"{text}\n")
        self._open = False
        self._shown_s = time.monotonic()

    def progress(self, text: str) -> None:
        """In the last line of a terminal; elsewhere a line each ten seconds."""
        if time.monotonic() - self._shown_s < self._every_s:
            return
        self._shown_s = time.monotonic()
        self._write(f"  {text}" + ("" if self._terminal else "\n"))
        self._open = self._terminal

    def ended(self) -> None:
        """Take the changing line away."""
        if self._open:
            self._write("")
        self._open = False

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # who closed the log does not end the run by it
            sys.stderr.write(("\r\x1b[K" if self._open else "") + text)
            sys.stderr.flush()


def choose(*, quiet: bool) -> Display:
    """What fits."""
    return Display() if quiet else LineDisplay()
