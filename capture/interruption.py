"""Ctrl-C, SIGTERM and SIGHUP, let through only where a campaign waits or transfers: records, and removal, are never
torn."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_INSISTING = 3
"""Who asks so often wants out at any price."""


class Interruption:
    """A context in which the signals raise `KeyboardInterrupt` within `allowed()`, and else at its next beginning."""

    def __init__(self) -> None:
        self._asked = 0
        self._allowed = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:  # noqa: PYI034 - typing.Self is newer than Python 3.9
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in ending_signals()}
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def asked(self) -> bool:
        """True once somebody wants the campaign to end."""
        return self._asked > 0

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Here the signals come through at once."""
        within_another, self._allowed = self._allowed, True
        try:
            if self._asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = within_another

    def sleep(self, seconds: float) -> None:
        """Sleep, but for the signals."""
        with self.allowed():
            time.sleep(max(0.0, seconds))

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._asked += 1
        if self._allowed or self._asked >= _INSISTING:
            self._allowed = False
            raise KeyboardInterrupt


def ending_signals() -> tuple[int, ...]:
    """What asks a program to end in good order: also that its terminal is gone, unless `nohup` told it not to care."""
    hung_up = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    return (signal.SIGINT, signal.SIGTERM, *hung_up)
