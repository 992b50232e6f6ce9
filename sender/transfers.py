"""One transfer of a pair: both captures, TCP_INFO, the bytes, and the record of it for `pairs.jsonl`.

A transfer that does not go through raises `TransferFailed` or a `WireError`; a capture that does not only marks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Callable

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.health import CaptureHealth, health_path
from vmtrace.capture.interruption import Interruption
from vmtrace.capture.settings import CaptureSettings
from vmtrace.capture.tcp_info import TcpInfoSample
from vmtrace.sender.display.view import Display
from vmtrace.sender.far_side import FarSide
from vmtrace.sender.instruments import Capture, Instruments, Sampler, larger_buffer_bytes
from vmtrace.sender.link import Link
from vmtrace.sender.live import Moving, TransferWatch
from vmtrace.sender.plan import TransferPlan
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.settings import Settings
from vmtrace.sender.wire.endpoint import plain_host
from vmtrace.sender.wire.names import RECEIVER, path_of
from vmtrace.sender.wire.program import describe
from vmtrace.sender.wire.records import (
    BOTH,
    DOWNLOAD,
    UPLOAD,
    Arrival,
    CaptureCounts,
    FarEnd,
    Prepared,
    TcpSummary,
    TransferRequest,
    random_bytes_for,
)
from vmtrace.sender.wire.summary import tcp_summary
from vmtrace.sender.wire.transfer import Outcome, digest_ok

Record = dict[str, Any]


class TransferFailed(Exception):  # noqa: N818 - told to the user as what happened, not as a class of defects
    """The transfer did not go through, though the receiver answers; the message says why."""


@dataclass(frozen=True)
class Recorded:
    """What this side recorded of one transfer."""

    health: CaptureHealth | None
    error: str | None
    samples: Sequence[TcpInfoSample]
    sampling_error: str | None


class Transfers:
    """Does the transfers of a run, one after the other. Remembers the buffer sizes that captures need."""

    def __init__(
        self,
        far_side: FarSide,
        link: Link,
        instruments: Instruments,
        folder: RunFolder,
        capture: CaptureSettings | None,
        interruption: Interruption,
    ) -> None:
        self._far_side = far_side
        self._link = link
        self._instruments = instruments
        self._folder = folder
        self._capture = capture
        self._interruption = interruption
        self._settings: Settings = folder.settings
        self._far_buffer_bytes = self._settings.capture_buffer_bytes

    def run(self, sequence: int, part: str, plan: TransferPlan, display: Display) -> Record:
        """Do a transfer; returns its record.

        Raises `TransferFailed` or `WireError`, and `OSError` when a file cannot be written.
        """
        self._link.make_room_for(plan.moved_bytes)
        control = self._link.control
        request = self._request(sequence, part, plan)
        try:
            with self._interruption.allowed():
                prepared = control.prepare(request)
            recording = _Recording(self._instruments, self._folder, request, self._capture_towards())
            try:
                outcome, far = self._move(request, prepared, recording.sampler, display.moving)
            finally:
                recorded = recording.stop()
        except BaseException:
            self._link.drop()
            raise
        self._learn(recorded, far)
        if recorded.sampling_error is not None:
            display.noticed(recorded.sampling_error)
        if far.error is not None:
            self._link.drop()
            raise TransferFailed(f"{part}: the receiver says: {far.error}")
        if not digest_ok(outcome, far):
            self._link.drop()
            raise TransferFailed(f"{part}: what arrived is not what was sent (digests differ)")
        record = transfer_record(plan, outcome, far, recorded.samples)
        return {**record, "capture": self._capture_record(request, prepared, recorded, far)}

    def _move(
        self, request: TransferRequest, prepared: Prepared, sampler: Sampler | None, show: Callable[[Moving], None]
    ) -> tuple[Outcome, FarEnd]:
        control = self._link.control
        watch = TransferWatch(sampler, show)
        with self._interruption.allowed():
            try:
                outcome = self._far_side.transfer(control, request, prepared, watch, self._settings.stall_s)
            except OSError as error:
                raise TransferFailed(f"{request.part}: {describe(error)}") from error
            return outcome, control.finish(request.number, outcome.sent)

    def _request(self, sequence: int, part: str, plan: TransferPlan) -> TransferRequest:
        return TransferRequest(
            number=self._link.next_number(),
            sequence=sequence,
            part=part,
            bytes=plan.bytes,
            direction=plan.direction,
            streams=plan.streams,
            tls=plan.tls,
            random_bytes=random_bytes_for(plan.bytes),
            tcp_info_interval_s=self._settings.tcp_info_interval_s,
            options=plan.options,
            capture_buffer_bytes=self._far_buffer_bytes,
        )

    def _capture_towards(self) -> CaptureSettings | None:
        """The capture's settings with a filter for the data connections alone."""
        if self._capture is None:
            return None
        control = self._link.control
        host, port = control.peer_address
        expression = f"tcp and host {plain_host(host)} and port {port} and not port {control.local_address[1]}"
        return replace(self._capture, filter=expression, also_tagged=True)

    def _learn(self, recorded: Recorded, far: FarEnd) -> None:
        """After a drop the next captures get a larger buffer, at the side that dropped."""
        if self._capture is not None and recorded.health is not None and recorded.health.dropped:
            used_bytes = self._capture.buffer_bytes or 0
            self._capture = replace(self._capture, buffer_bytes=larger_buffer_bytes(self._capture, used_bytes))
        if far.capture is not None and far.capture.dropped:
            settings = self._capture or CaptureSettings("any")
            self._far_buffer_bytes = larger_buffer_bytes(settings, self._far_buffer_bytes or 0)

    def _capture_record(
        self, request: TransferRequest, prepared: Prepared, recorded: Recorded, far: FarEnd
    ) -> Record | None:
        far_capture = far.capture
        far_error = (far_capture.error if far_capture is not None else None) or prepared.capture_error
        if recorded.health is None and recorded.error is None and far_capture is None and far_error is None:
            return None
        own, own_error = recorded.health, recorded.error
        # The transfer went through, so there were packets: a capture without any was made elsewhere than they passed.
        if own is not None and _saw_nothing(own):
            own_error = own_error or f"no packet of the transfer passed {own.interface}: does it lead to the receiver?"
        if far_capture is not None and _saw_nothing(far_capture):
            far_error = far_error or "no packet of the transfer passed the interface: does it lead to the sender?"
        far_recorded = far_capture is not None and far_capture.received is not None
        relative = path_of("packets", request.sequence, request.part, RECEIVER).as_posix()
        file = self._folder.path_of("packets", request.sequence, request.part).relative_to(self._folder.path)
        return {
            "sender_dropped": None if own is None else own.dropped,
            "receiver_dropped": None if far_capture is None else far_capture.dropped,
            "sender_file": None if own is None else file.as_posix(),
            "receiver_file": relative if far_recorded else None,
            "sender_error": own_error,
            "receiver_error": far_error,
            "sender_buffer_bytes": None if own is None else own.buffer_bytes,
            "receiver_buffer_bytes": request.capture_buffer_bytes if far_recorded else None,
        }


class _Recording:
    """This side's capture and sampler of one transfer, from construction to `stop`."""

    def __init__(
        self, instruments: Instruments, folder: RunFolder, request: TransferRequest, settings: CaptureSettings | None
    ) -> None:
        self.sampler: Sampler | None = None
        self._capture: Capture | None = None
        self._error: str | None = None
        tcp_info, packets = (folder.path_of(kind, request.sequence, request.part) for kind in ("tcpinfo", "packets"))
        _remove(tcp_info, packets, health_path(packets))
        if request.tcp_info_interval_s is not None:
            self.sampler = instruments.start_sampler(tcp_info, request.tcp_info_interval_s)
        if settings is not None:
            try:
                self._capture = instruments.start_capture(settings, packets)
            except (CaptureError, OSError) as error:
                self._error = describe(error)

    def stop(self) -> Recorded:
        try:
            samples = self.sampler.finish() if self.sampler is not None else ()
        finally:
            health = self._capture.stop() if self._capture is not None else None
        sampling_error = self.sampler.error if self.sampler is not None else None
        return Recorded(health, self._error if health is None else health.error, samples, sampling_error)


def transfer_record(plan: TransferPlan, outcome: Outcome, far: FarEnd, samples: Sequence[TcpInfoSample]) -> Record:
    """A `TRANSFER` of docs/run-folder.md, but for its capture."""
    arrival = far.arrival if far.arrival is not None else outcome.arrival(far)
    tcp = _tcp(plan.direction, samples, far)
    return {
        "bytes": plan.moved_bytes,
        "direction": plan.direction,
        "streams": plan.streams,
        "start_ns": outcome.start_ns,
        "end_ns": outcome.end_ns,
        "duration_s": outcome.duration_s,
        "goodput_bps": 8 * plan.moved_bytes / outcome.duration_s if outcome.duration_s > 0 else None,
        "digest_ok": True,
        "receiver": _arrival_record(arrival),
        "connect_s": outcome.connect_s,
        "connections": [asdict(connection) for connection in outcome.connections],
        "tcp": None if tcp is None else asdict(tcp),
        "tls": None if outcome.tls is None else asdict(outcome.tls),
    }


def _arrival_record(arrival: Arrival | None) -> Record | None:
    if arrival is None:
        return None
    first_ns, last_ns = arrival.first_byte_ns, arrival.last_byte_ns
    duration_s = None if first_ns is None or last_ns is None else (last_ns - first_ns) / 1e9
    return {"first_byte_ns": first_ns, "last_byte_ns": last_ns, "duration_s": duration_s}


def _tcp(direction: str, samples: Sequence[TcpInfoSample], far: FarEnd) -> TcpSummary | None:
    own = tcp_summary(samples, UPLOAD)
    if direction == UPLOAD:
        return own
    if direction == DOWNLOAD or own is None or far.tcp is None:
        return far.tcp if direction == DOWNLOAD or own is None else own
    assert direction == BOTH
    return TcpSummary(
        congestion_control=own.congestion_control,
        retransmitted_segments=_sum(own.retransmitted_segments, far.tcp.retransmitted_segments),
        segments_out=_sum(own.segments_out, far.tcp.segments_out),
        min_rtt_s=min(filter(None, (own.min_rtt_s, far.tcp.min_rtt_s)), default=None),
        srtt_s=own.srtt_s,
        delivery_rate_bps=_sum(own.delivery_rate_bps, far.tcp.delivery_rate_bps),
    )


def _saw_nothing(capture: CaptureHealth | CaptureCounts) -> bool:
    return capture.received == 0 and not capture.dropped


def _sum(one: float | None, other: float | None) -> Any:
    return None if one is None or other is None else one + other


def _remove(*paths: Path) -> None:
    """What an attempt before left."""
    for path in paths:
        path.unlink(missing_ok=True)
