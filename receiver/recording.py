"""What is recorded at the receiver while one transfer runs: packets and TCP_INFO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmtrace.capture.buffer_size import LARGEST_AFTER_DROP_BYTES, within_memory
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.settings import CaptureSettings
from vmtrace.capture.tcp_info import TcpInfoSample, TcpInfoSampler
from vmtrace.receiver.storage import StoredRun
from vmtrace.sender.wire.records import CaptureCounts, TransferRequest

_SHARE_OF_MEMORY = 4


@dataclass(frozen=True)
class CapturePlan:
    """How packets of a session are recorded."""

    interface: str
    filter: str
    snaplen: int | None


class Recording:
    """Runs from construction to `stop`. A capture that fails is a fact of the record, not an end of the transfer."""

    def __init__(self, run: StoredRun, request: TransferRequest, plan: CapturePlan | None) -> None:
        self.capture_error: str | None = None
        self.sampling_error: str | None = None
        self._folder = run.folder
        self._recorder: Recorder | None = None
        interval_s = request.tcp_info_interval_s
        self._tcp_info: TcpInfoSampler | None = None
        if interval_s is not None:
            path = run.path("tcpinfo", request.sequence, request.part)
            path.unlink(missing_ok=True)
            self._tcp_info = TcpInfoSampler(path, interval_s)
        if plan is not None:
            try:
                self._start_capture(run.path("packets", request.sequence, request.part), request, plan)
            except BaseException:
                self.stop()
                raise

    def watch(self, stream: int, direction: str, sock: object) -> None:
        """Sample a connection's TCP_INFO."""
        if self._tcp_info is not None:
            self._tcp_info.watch(stream, direction, sock)  # type: ignore[arg-type]

    def unwatch(self, stream: int, direction: str) -> None:
        """The connection is about to be closed."""
        if self._tcp_info is not None:
            self._tcp_info.unwatch(stream, direction)

    def stop(self) -> tuple[CaptureCounts | None, Sequence[TcpInfoSample]]:
        """End both; returns what the capture counted and the last sample of each connection.

        `sampling_error` then says why samples are missing from the file, if some are.
        """
        try:
            samples: Sequence[TcpInfoSample] = () if self._tcp_info is None else self._tcp_info.finish()
        finally:
            counts = self._stop_capture()
        self.sampling_error = None if self._tcp_info is None else self._tcp_info.error
        return counts, samples

    def _stop_capture(self) -> CaptureCounts | None:
        if self._recorder is None:
            return None if self.capture_error is None else CaptureCounts(None, None, self.capture_error)
        health = self._recorder.stop()
        error = None if health.error is None else self._told(health.error)
        return CaptureCounts(health.received, health.dropped, error)

    def _told(self, error: str) -> str:
        """Trouble as the sender may know it: where on this host the run lies is not its business."""
        return error.replace(f"{self._folder}/", "")

    def _start_capture(self, path: Path, request: TransferRequest, plan: CapturePlan) -> None:
        for old in (path, path.with_suffix(".capture.json")):
            old.unlink(missing_ok=True)
        try:
            settings = CaptureSettings(
                interface=plan.interface,
                filter=plan.filter,
                snaplen=plan.snaplen,
                buffer_bytes=_allowed(request.capture_buffer_bytes),
                also_tagged=True,
            )
            recorder = Recorder(settings, path)
            recorder.start()
        except (CaptureError, OSError) as error:
            self.capture_error = self._told(str(error))
        else:
            self._recorder = recorder


def _allowed(buffer_bytes: int | None) -> int | None:
    """What a sender may have of the kernel's memory: the same as after a drop here."""
    return (
        None if buffer_bytes is None else within_memory(min(buffer_bytes, LARGEST_AFTER_DROP_BYTES), _SHARE_OF_MEMORY)
    )
