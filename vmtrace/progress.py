"""Progress on standard error, for a person at a terminal who has waited half a second: how far the reading is, and
what is being made of what was read."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from vmtrace.capture.live_display import Bar as LiveBar
    from vmtrace.capture.live_display import LiveDisplay

_PATIENCE_S = 0.5


class Bar:
    """Call it with the bytes consumed so far. Nothing is imported or drawn until the patience is over.

    As a context it also shows that nothing was consumed yet: what is read first may take long.
    """

    def __init__(self, paths: Sequence[str] = (), *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._total = total_bytes(paths)
        self._started = time.monotonic()
        self._last = self._parts_bytes = 0
        self._live: LiveDisplay | None = None
        self._bar: LiveBar | None = None
        self._making: str | None = None
        self._over = False
        # What is being made is shown by a thread that has waited; reading may begin meanwhile.
        self._lock = threading.RLock()
        self._first = self._waiting(self._show_first)

    def __call__(self, consumed_bytes: int) -> None:
        """Show how far the reading is."""
        if not self._wanted:
            return
        with self._lock:
            self._first.cancel()
            if consumed_bytes < self._last:  # a further pass begins
                self._close()
                self._started = time.monotonic()
            self._last = consumed_bytes
            if self._making is not None and self._total is not None and consumed_bytes >= self._total:
                self._show_making()
                return
            elapsed_s = time.monotonic() - self._started
            if self._bar is None and elapsed_s > _PATIENCE_S:
                self._open_reading()
            if self._bar is not None:
                from vmtrace.capture.live_display import amount_bytes

                self._bar.show(done=consumed_bytes, words=amount_bytes(consumed_bytes, self._total, elapsed_s))

    def part(self, paths: Sequence[str]) -> Callable[[int], None]:
        """To be called instead while these are read: of several readings, one after the other, the bytes add up."""
        before = self._parts_bytes
        self._parts_bytes += total_bytes(paths) or 0
        return lambda consumed_bytes: self(before + consumed_bytes)

    @contextmanager
    def making(self, what: str) -> Iterator[None]:
        """Say that something is being made while the block lasts; nobody knows how long it will take."""
        if not self._wanted:
            yield
            return
        with self._lock:
            self._first.cancel()
            self._close()
            self._making = what
        waiting = self._waiting(self._show_making)
        waiting.start()
        try:
            yield
        finally:
            waiting.cancel()
            waiting.join()
            with self._lock:
                self._making = None
                self._close()

    def __enter__(self) -> Self:
        if self._wanted:
            self._first.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._first.cancel()
            self._over = True
            self._close()

    @staticmethod
    def _waiting(show: Callable[[], None]) -> threading.Timer:
        timer = threading.Timer(max(_PATIENCE_S, 0.0), show)
        timer.daemon = True
        return timer

    def _show_first(self) -> None:
        with self._lock:
            if not self._over and self._making is None and self._bar is None:
                self._open_reading()

    def _open_reading(self) -> None:
        from vmtrace.capture.live_display import live_display

        self._close()
        self._live = live_display()
        self._bar = self._live.bar("reading", self._total)

    def _show_making(self) -> None:
        from vmtrace.capture.live_display import live_display

        with self._lock:
            reading_goes_on = self._bar is not None and (self._total is None or self._last < self._total)
            if self._making is None or reading_goes_on:
                return
            self._close()
            self._live = live_display()
            self._live.bar(f"making {self._making}")

    def _close(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = self._bar = None


def total_bytes(paths: Sequence[str]) -> int | None:
    """The size of all files together; None if one has no size (standard input, a pipe)."""
    total = 0
    for path in paths:
        if hasattr(path, "size_bytes"):  # an object of a store
            total += path.size_bytes
            continue
        if not Path(path).is_file():
            return None
        total += Path(path).stat().st_size
    return total
