"""One capture for a whole campaign, in files of an hour or some hundred megabytes, with no packet lost in between.

Files are `packets/SS-NNNN.pcap`: session (a run that goes on begins another) and number. A recording that breaks off
(disk full, interface gone) is reported once; the campaign goes on without packets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from vmtrace.capture.recorder import Recorder
from vmtrace.capture.rotation import Rotation
from vmtrace.providers.kinds.site import Site

ROTATION = Rotation(size_bytes=256 << 20, seconds=3600.0)
_LOOKS_EVERY_S = 1.0


class LongCapture:
    """Entered for the length of a campaign; without capture settings it does nothing."""

    def __init__(self, site: Site, rotation: Rotation = ROTATION) -> None:
        self._site = site
        self._rotation = rotation
        self._recorder: Recorder | None = None
        self._watch: threading.Thread | None = None
        self._over = threading.Event()
        self._handed_over = 0
        self._base = Path()

    def __enter__(self) -> Self:
        """Raises `CaptureError`."""
        settings = self._site.place.capture
        if settings is None:
            return self
        folder = self._site.folder.path / "packets"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._base = folder / f"{self._site.folder.state.get('sessions', 1):02d}.pcap"
        recorder = Recorder(settings, self._base, self._rotation)
        recorder.start()
        self._recorder = recorder
        if self._site.order.after_capture is not None:
            self._watch = threading.Thread(target=self._hand_over, name="captures", daemon=True)
            self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recorder is None:
            return
        health = self._recorder.stop()
        self._over.set()
        if self._watch is not None:
            self._watch.join()
        state = self._site.folder.state
        self._site.folder.note(
            packets_received=state.get("packets_received", 0) + health.received,
            packets_dropped=state.get("packets_dropped", 0) + health.dropped,
        )
        if health.error is not None:
            self._site.folder.note(capture_error=health.error)
            self._site.display.warned(f"the capture ended early: {health.error}")

    @property
    def dropped(self) -> int:
        """Packets lost so far."""
        return 0 if self._recorder is None else self._recorder.dropped()

    def _hand_over(self) -> None:
        """Each file that is followed by another is complete; at the end so is the last."""
        while not self._over.wait(_LOOKS_EVERY_S):
            while self._file(self._handed_over + 2).exists():
                self._next()
        while self._file(self._handed_over + 1).exists():
            self._next()

    def _next(self) -> None:
        self._handed_over += 1
        after: Callable[[Path], None] | None = self._site.order.after_capture
        if after is not None:
            after(self._file(self._handed_over))

    def _file(self, number: int) -> Path:
        return self._rotation.path(self._base, number)
