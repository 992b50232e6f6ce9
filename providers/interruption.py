"""Ctrl-C and SIGTERM, let through only where a run waits or transfers: records and removal are never torn."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INSISTING = 3
"""Who asks so often wants out at any price."""


class Interruption:
    """Within `allowed()` the signals raise `KeyboardInterrupt` at once; elsewhere at the next `allowed()`."""

    def __init__(self) -> None:
        self._asked = 0
        self._allowed = False
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = [signal.signal(number, self._handle) for number in _SIGNALS]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in zip(_SIGNALS, self._before, strict=False):
            signal.signal(number, handler)
        self._before = []

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Here the signals come through."""
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
