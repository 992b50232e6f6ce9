"""What records a transfer at this side: packets and TCP_INFO. Tests put other instruments in their place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from vmtrace.capture.buffer_size import larger
from vmtrace.capture.health import CaptureHealth
from vmtrace.capture.opening import open_capture
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.settings import CaptureSettings
from vmtrace.capture.tcp_info import TcpInfoSample, TcpInfoSampler


class Capture(Protocol):
    """A recording of packets that runs."""

    def stop(self) -> CaptureHealth:
        """End it; what went wrong is in the health."""


class Sampler(Protocol):
    """Samples TCP_INFO of the connections it is given."""

    error: str | None
    """Why samples are missing from the file from some time on, in one line; None if none are."""

    def watch(self, stream: int, direction: str, sock: object) -> None:
        """Begin with a connection."""

    def unwatch(self, stream: int, direction: str) -> None:
        """It is about to be closed."""

    def finish(self) -> Sequence[TcpInfoSample]:
        """Stop; returns the last sample of each connection."""


class Instruments(Protocol):
    """Where captures and samplers come from."""

    def check(self, settings: CaptureSettings) -> None:
        """See at once whether captures can be made; raises the `CaptureError` that says why not."""

    def start_capture(self, settings: CaptureSettings, path: Path) -> Capture:
        """A capture that runs; raises `CaptureError` or `OSError`."""

    def start_sampler(self, path: Path, interval_s: float) -> Sampler:
        """A sampler; raises `OSError`."""


class RealInstruments:
    """Those of `capture`."""

    def check(self, settings: CaptureSettings) -> None:
        """See at once whether captures can be made; raises the `CaptureError` that says why not."""
        open_capture(settings).live.close()

    def start_capture(self, settings: CaptureSettings, path: Path) -> Capture:
        """A capture that runs; raises `CaptureError` or `OSError`."""
        recorder = Recorder(settings, path)
        recorder.start()
        return recorder

    def start_sampler(self, path: Path, interval_s: float) -> Sampler:
        """A sampler; raises `OSError`."""
        return TcpInfoSampler(path, interval_s)  # type: ignore[return-value]


def larger_buffer_bytes(settings: CaptureSettings, used_bytes: int) -> int:
    """The size after a drop: twice as much, within what memory allows; `used_bytes` 0 is the size for the link."""
    return larger(used_bytes or settings.buffer_wanted_bytes())
