"""Ctrl-C, SIGTERM and, where wanted, SIGHUP, let through only where a campaign waits or transfers: records, and
removal, are never torn."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INSISTING = 3
"""Who asks so often wants out at any price."""


class Interruption:
    """A context in which the signals raise `KeyboardInterrupt` within `allowed()`, and else at its next beginning.

    `hang_up`: SIGHUP is one of them, unless it is ignored (nohup): a closed terminal ends the work in good order.
    """

    def __init__(self, *, hang_up: bool = False) -> None:
        self._asked = 0
        self._allowed = False
        self._hang_up = hang_up
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:  # noqa: PYI034 - typing.Self is newer than Python 3.9
        if threading.current_thread() is threading.main_thread():
            hang_up = self._hang_up and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
            numbers = (*_SIGNALS, signal.SIGHUP) if hang_up else _SIGNALS
            self._before = {number: signal.signal(number, self._handle) for number in numbers}
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
