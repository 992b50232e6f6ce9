"""A recording: from the kernel's buffer into files, in a thread of its own, until it is stopped or cannot go on.

The thread sleeps until the kernel hands over a part of its buffer (256 KiB, or what came in 40 ms), and one call of
libpcap writes all of it. How the end loses nothing: the kernel's filter is set to reject all, so that what has been
received can be counted; then reading goes on until that many packets are written. Whatever a program has sent or
received before `stop` has passed the capture before, so it is in the file.

Trouble after the start (interface gone, disk full) ends the recording, not the program: the files hold what came
until then, and their health says why.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import final

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.health import CaptureHealth, sum_of
from vmtrace.capture.libpcap import InterruptedCaptureError
from vmtrace.capture.opening import HAND_OVER_MS, open_capture, stop_receiving
from vmtrace.capture.rotation import Rotation
from vmtrace.capture.settings import CaptureSettings
from vmtrace.capture.writer import Progress, Writer
from vmtrace.formats import STANDARD_OUTPUT

_NO_ROTATION = Rotation()
_WAKE_UP_MS = 100
# A buffer that gave nothing for so long, with no filter letting anything in, is empty.
_EMPTY_AFTER_S = 4 * HAND_OVER_MS / 1000


@final
class Recorder:
    """Records one interface into `path` (`-`: standard output, no health file), or into several files by rotation.

    Used as `start`, `stop`, or as a context manager. After `start` nothing raises: see `CaptureHealth.error`.
    """

    def __init__(
        self, settings: CaptureSettings, path: Path, rotation: Rotation = _NO_ROTATION, count: int | None = None
    ) -> None:
        if rotation.active and path == Path(STANDARD_OUTPUT):
            raise CaptureError("standard output is one file: it cannot be rotated")
        self._settings, self._path, self._rotation, self._count = settings, path, rotation, count
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._healths: list[CaptureHealth] = []

    def start(self) -> None:
        """Begin; returns when every packet from now on is recorded.

        Raises:
            CaptureError: it cannot begin; nothing is left open.
        """
        if self._thread is not None:
            raise CaptureError("a recorder records once: make another")
        opened = open_capture(self._settings)
        try:
            self._writer = Writer(self._settings, self._path, self._rotation, opened)
            self._wake_reader, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        except BaseException:
            opened.live.close()
            raise
        self._opened = opened
        self._thread = threading.Thread(target=self._run, name=f"capture {self._settings.interface}", daemon=True)
        self._thread.start()

    def stop(self) -> CaptureHealth:
        """Write what the kernel still holds, close, and write the health; a second time only returns it.

        With rotation it is the health of the whole: sums, first and last times.
        """
        if self._thread is None:
            raise CaptureError("the recorder was not started")
        if not self._stop.is_set():
            self._stop.set()
            if not self._ended.is_set():
                os.write(self._wake, b"\0")
            self._thread.join()
            os.close(self._wake_reader)
            os.close(self._wake)
            self._healths = self._writer.healths()
        return sum_of(self._healths, self._path.name)

    def healths(self) -> list[CaptureHealth]:
        """One for each file, in order; empty before `stop`."""
        return list(self._healths)

    def progress(self) -> Progress:
        """How far it is."""
        return self._writer.progress

    def dropped(self) -> int:
        """Packets lost so far, by the kernel and the interface."""
        return self._writer.progress.dropped

    def wait(self, seconds: float) -> bool:
        """Wait, at most so long, for a recording that ends by itself (interface gone, disk full, count reached)."""
        return self._ended.wait(seconds)

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        # Signals are the main thread's, which may be waiting for one.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        error: str | None = "the recording thread ended by a defect"
        try:
            error = self._read_until_stopped()
        finally:
            self._writer.end(error)
            self._opened.live.close()
            self._ended.set()

    def _read_until_stopped(self) -> str | None:
        """Returns why the recording ended early, or None."""
        error = None
        try:
            poller = select.poll()
            poller.register(self._opened.live.selectable, select.POLLIN)
            poller.register(self._wake_reader, select.POLLIN)
            while not self._stop.is_set() and not self._enough():
                if not self._writer.more_waiting:
                    poller.poll(_WAKE_UP_MS)
                self._writer.read(self._remaining())
        except CaptureError as trouble:
            error = str(trouble)
        try:
            self._drain()
        except (CaptureError, OSError) as trouble:
            error = error or str(trouble)
        return error

    def _drain(self) -> None:
        """Write all that was received until now."""
        stop_receiving(self._opened)
        quiet_since_s = time.monotonic()
        while not self._enough() and not self._writer.complete():
            try:
                written = self._writer.read(self._remaining())
            except InterruptedCaptureError:  # an interface that is gone: the kernel still hands over what came before
                written = 0
            if written:
                quiet_since_s = time.monotonic()
            elif time.monotonic() - quiet_since_s > _EMPTY_AFTER_S:
                break
            else:
                time.sleep(0.002)

    def _remaining(self) -> int | None:
        return None if self._count is None else self._count - self._writer.written

    def _enough(self) -> bool:
        return self._count is not None and self._writer.written >= self._count
