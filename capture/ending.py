"""The end of a program that talks to others, when somebody asks for it: a first signal breaks off what goes on and
leaves some seconds to write what was measured; a second one ends the process at once.

A thread reads the signals from Python's wake-up descriptor. So it hears them also while the main thread is in a C
library (a name lookup) or waits for threads of an SDK, where no handler of Python's would run.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from types import FrameType
from typing import Any, Callable, NoReturn, TypeVar

from vmtrace.capture.bounded import NoEndError, bounded
from vmtrace.capture.interruption import Interruption, ending_signals

T = TypeVar("T")
ENDS_WITHIN_S = 4.5
"""After the first signal; then the process ends, whatever it is doing."""
_BREAKS_OFF_AFTER_S = 0.2
"""The handler comes first: what it interrupts is known to be interrupted, and no failure of the other side."""
_LEFT_FOR_BOOKS_S = 1.2
_STATUS = 130


def _nothing() -> None:
    """Nothing goes on that a signal would have to break off."""


class Ending(Interruption):
    """An `Interruption` with an end. `break_off` is called once, in another thread, after the first signal."""

    def __init__(self, told: str, break_off: Callable[[], None] = _nothing) -> None:
        """`told` is the line for who ends it by force: what is left, and what to do about it."""
        super().__init__()
        self._told, self._break_off = told, break_off
        self._broken_off = threading.Event()
        self._first_s: float | None = None
        self._over: tuple[socket.socket, socket.socket] | None = None
        self._wake_before = -1

    def __enter__(self) -> Ending:  # noqa: PYI034 - typing.Self is newer than Python 3.9
        super().__enter__()
        if threading.current_thread() is threading.main_thread():
            reads, writes = socket.socketpair()
            writes.setblocking(False)
            self._over = reads, writes
            self._wake_before = signal.set_wakeup_fd(writes.fileno(), warn_on_full_buffer=False)
            threading.Thread(target=self._watch, args=(reads,), name="ending", daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._over is not None:
            signal.set_wakeup_fd(self._wake_before)
            reads, writes = self._over
            self._over = None
            writes.close()  # the watch sees the end of it, and is over
            self._broken_off.set()
            del reads
        super().__exit__(*exception)

    def settle(self) -> None:
        """Wait until what goes on is broken off: later calls are none of those that a signal ended."""
        if self.asked and self._over is not None:
            self._broken_off.wait(2 * _BREAKS_OFF_AFTER_S + 0.5)

    def in_time(self, work: Callable[[], T]) -> T | None:
        """Do it; once somebody asked for the end, only as long as there is time. None where there was too little."""
        if not self.asked:
            return work()
        since_s = 0.0 if self._first_s is None else time.monotonic() - self._first_s
        try:
            return bounded(work, ENDS_WITHIN_S - _LEFT_FOR_BOOKS_S - since_s)
        except NoEndError:
            return None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._first_s is None:
            self._first_s = time.monotonic()
        super()._handle(number, frame)

    def _watch(self, reads: socket.socket) -> None:
        with reads:
            if not _was_signalled(reads, None):
                return
            ends_s = time.monotonic() + ENDS_WITHIN_S
            if _was_signalled(reads, _BREAKS_OFF_AFTER_S):
                self._leave()
            if self._over is None:
                return
            try:
                self._break_off()
            finally:
                self._broken_off.set()
            if _was_signalled(reads, ends_s - time.monotonic()) or self._over is not None:
                self._leave()

    def _leave(self) -> NoReturn:
        text = f"vmtrace: {self._told}\n"
        try:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2, text.encode())
        finally:
            os._exit(_STATUS)


def _was_signalled(reads: socket.socket, within_s: float | None) -> bool:
    """Whether an ending signal came; False at the end of the time, and when nobody writes any more."""
    wanted: Any = {int(number) for number in ending_signals()}
    ends_s = None if within_s is None else time.monotonic() + within_s
    while True:
        left_s = None if ends_s is None else max(0.0, ends_s - time.monotonic())
        ready, _, _ = select.select([reads], [], [], left_s)
        if not ready:
            return False
        numbers = reads.recv(64)
        if not numbers:
            return False
        if wanted & set(numbers):
            return True
