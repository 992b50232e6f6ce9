"""The transfers of one session, one at a time: checked against the limits, recorded, ended."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from vmtrace.receiver.certificate import Certificate
from vmtrace.receiver.log import Log
from vmtrace.receiver.recording import CapturePlan, Recording
from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.socket_options import check_options
from vmtrace.receiver.storage import StoredRun
from vmtrace.receiver.transfer import Ended, Transfer
from vmtrace.sender.wire.data_connection import Stream
from vmtrace.sender.wire.records import (
    DIRECTIONS,
    DOWNLOAD,
    PARTS,
    UPLOAD,
    CaptureCounts,
    FarEnd,
    Limits,
    Prepared,
    Sent,
    TcpSummary,
    TransferRequest,
    directions_of,
)
from vmtrace.sender.wire.summary import tcp_summary
from vmtrace.sender.wire.transfer import arrival_of

_STALL_S = 60.0
_LAST_STREAMS_S = 10.0
"""A sender asks for the end when its streams are done: they are here but for the closing of their connections."""
_LARGEST_NUMBER = 2**32 - 1
_LARGEST_RANDOM_BYTES = 256 << 20
_LARGEST_SEQUENCE = 999_999_999
_SHORTEST_SAMPLING_S = 0.001
_LONGEST_SAMPLING_S = 3600.0


@dataclass
class _Current:
    """The transfer that was prepared last and has not ended."""

    request: TransferRequest
    transfer: Transfer
    recording: Recording
    deadline_s: float


class TransferDesk:
    """`take`, `interrupt` and `check_time` may be called from another thread than the rest."""

    def __init__(self, run: StoredRun, capture: CapturePlan | None, limits: Limits, log: Log, peer: str) -> None:
        self._run = run
        self._capture = capture
        self._limits = limits
        self._log = log
        self._peer = peer
        self._current: _Current | None = None
        self._ending: Transfer | None = None
        self._last_number = 0
        self._spent_bytes = 0

    @property
    def deadline_s(self) -> float | None:
        """Until when (monotonic) the current transfer may take; None if there is none."""
        current = self._current
        return None if current is None else current.deadline_s

    @property
    def awaited(self) -> int:
        """How many data connections are to come."""
        current = self._current
        return 0 if current is None else current.transfer.awaited

    def interrupt(self, reason: str) -> None:
        """Let the current transfer end, and whoever waits for it go on."""
        current, ending = self._current, self._ending
        for transfer in (None if current is None else current.transfer, ending):
            if transfer is not None:
                transfer.interrupt(reason)

    def check_time(self, now_s: float) -> None:
        """End a transfer that takes longer than it may."""
        current = self._current
        if current is not None and now_s > current.deadline_s:
            current.transfer.interrupt(
                f"it took longer than this receiver allows: {self._limits.transfer_s:g} s (--max-transfer-time)"
            )

    def prepare(self, request: TransferRequest, certificate: Certificate) -> Prepared:
        """Expect the connections of a transfer; what is recorded runs when this returns. Raises `Refusal`."""
        self._check(request)
        shown = certificate if request.tls else None
        self.abort()
        self._last_number = request.number
        self._spent_bytes += _both_ways(request)
        recording = Recording(self._run, request, self._capture)
        try:
            transfer = Transfer(request, shown.transfers if shown else None, recording, _STALL_S)
        except BaseException:
            recording.stop()
            raise
        deadline_s = time.monotonic() + self._limits.transfer_s
        self._current = _Current(request, transfer, recording, deadline_s)
        return Prepared(request.number, recording.capture_error, shown.sha256 if shown else None)

    def take(self, stream: Stream, sock: socket.socket, accept: bytes) -> bool:
        """Give a data connection to the transfer it names; False if that is not expecting it."""
        current = self._current
        if current is None or current.request.number != stream.transfer:
            return False
        return current.transfer.take(stream, sock, accept)

    def finish(self, number: int, sent: Sent | None) -> FarEnd:
        """End a transfer whose sender has done its part."""
        current = self._current
        if current is None or current.request.number != number:
            raise Refusal(f"transfer {number} is not the one that was prepared")
        self._ending, self._current = current.transfer, None
        try:
            ended = current.transfer.wait(_LAST_STREAMS_S)
        finally:
            self._ending = None
            counts, samples = current.recording.stop()
        if current.recording.sampling_error is not None:
            self._log.trouble(f"{self._peer}: {current.recording.sampling_error}")
        tcp = tcp_summary(samples, DOWNLOAD) if current.request.direction != UPLOAD else None
        far = _far_end(ended, sent, tcp, counts)
        self._tell(current.request, ended, far)
        return far

    def abort(self) -> None:
        """Give the current transfer up, if there is one."""
        current, self._current = self._current, None
        if current is not None:
            try:
                current.transfer.stop()
            finally:
                current.recording.stop()

    def _check(self, request: TransferRequest) -> None:
        limits = self._limits
        if not self._last_number < request.number <= _LARGEST_NUMBER:
            raise Refusal(f"transfer {request.number} comes after {self._last_number}")
        if request.part not in PARTS or request.direction not in DIRECTIONS:
            raise Refusal(f"no transfer is called {request.part} {request.direction}")
        if not 1 <= request.sequence <= _LARGEST_SEQUENCE:
            raise Refusal(f"no pair has number {request.sequence}")
        if not 1 <= request.streams <= limits.streams:
            raise Refusal(f"{request.streams} streams: this receiver allows 1 to {limits.streams} (--max-streams)")
        if request.bytes < request.streams:
            raise Refusal(f"{request.bytes} bytes are too few for {request.streams} streams")
        if _both_ways(request) > limits.transfer_bytes:
            raise Refusal(
                f"a transfer of {_both_ways(request)} bytes: this receiver allows {limits.transfer_bytes}"
                " (--max-transfer-bytes)"
            )
        if self._spent_bytes + _both_ways(request) > limits.session_bytes:
            raise Refusal(f"this session has used up its {limits.session_bytes} bytes (--max-session-bytes)")
        if not 1 <= request.random_bytes <= _LARGEST_RANDOM_BYTES:
            raise Refusal(f"{request.random_bytes} random bytes: 1 to {_LARGEST_RANDOM_BYTES} are possible")
        interval_s = request.tcp_info_interval_s
        if interval_s is not None and not _SHORTEST_SAMPLING_S <= interval_s <= _LONGEST_SAMPLING_S:
            raise Refusal(f"TCP_INFO is sampled every {_SHORTEST_SAMPLING_S} to {_LONGEST_SAMPLING_S:g} s")
        check_options(request.options)

    def _tell(self, request: TransferRequest, ended: Ended, far: FarEnd) -> None:
        record = {
            "sequence": request.sequence,
            "part": request.part,
            "direction": request.direction,
            "bytes": request.bytes,
            "end_ns": time.time_ns(),
            "first_byte_ns": far.arrival.first_byte_ns if far.arrival else None,
            "last_byte_ns": far.arrival.last_byte_ns if far.arrival else None,
            "verified": far.arrival.verified if far.arrival else None,
            "capture_dropped": far.capture.dropped if far.capture else None,
            "error": ended.error,
        }
        self._run.log_transfer(record)
        text = f"{self._peer}: pair {request.sequence} {request.part}, {request.direction} of {request.bytes:,} bytes"
        outcome = ended.error or ("verified" if far.arrival is None or far.arrival.verified else "NOT what was sent")
        self._log.event("transfer", f"{text}: {outcome}", peer=self._peer, run=self._run.run_id, **record)


def _both_ways(request: TransferRequest) -> int:
    return request.bytes * len(directions_of(request.direction))


def _far_end(ended: Ended, sent: Sent | None, tcp: TcpSummary | None, counts: CaptureCounts | None) -> FarEnd:
    arrival = None if ended.received is None else arrival_of(ended.received, sent)
    return FarEnd(arrival, ended.sent, tcp, counts, ended.error)
