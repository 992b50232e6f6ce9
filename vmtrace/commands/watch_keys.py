"""Keys that are pressed while something is watched."""

import os
import select
import sys
import termios
import time
import tty
from contextlib import suppress
from types import TracebackType
from typing import Any, Self


class Keys:
    """A context in which single keys are read, without echo. Where there is no terminal, none are ever pressed."""

    def __init__(self, *, wanted: bool, but_not_stdin: bool = False) -> None:
        self._wanted, self._but_not_stdin = wanted, but_not_stdin
        self._terminal: int | None = None
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        if self._wanted:
            with suppress(OSError, termios.error):
                at_stdin = not self._but_not_stdin and sys.stdin is not None and sys.stdin.isatty()
                terminal = os.dup(sys.stdin.fileno()) if at_stdin else os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
                self._before = termios.tcgetattr(terminal)
                tty.setcbreak(terminal)
                self._terminal = terminal
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal is not None:
            termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)
            os.close(self._terminal)
            self._terminal = None

    def pressed(self, within_s: float) -> str | None:
        """The next key; None if there is none within this time, which goes by."""
        if self._terminal is None:
            time.sleep(within_s)
            return None
        ready, _, _ = select.select([self._terminal], [], [], within_s)
        return os.read(self._terminal, 1).decode(errors="replace") if ready else None
