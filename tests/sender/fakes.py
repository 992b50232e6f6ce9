"""A receiver, instruments and a clock that do what a test says, in place of the network, libpcap and time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.health import CaptureHealth
from vmtrace.capture.interruption import Interruption
from vmtrace.capture.offload import read_offload
from vmtrace.capture.settings import CaptureSettings
from vmtrace.capture.tcp_info import TcpInfoSample
from vmtrace.sender.plan import Plan
from vmtrace.sender.wire.errors import WireError
from vmtrace.sender.wire.records import (
    Arrival,
    CaptureCounts,
    ClockOffset,
    FarEnd,
    Limits,
    Prepared,
    RemoteFile,
    RunAccepted,
    RunRequest,
    Sent,
    TransferRequest,
)
from vmtrace.sender.wire.stream_life import ConnectionName, Watch
from vmtrace.sender.wire.transfer import Outcome

Trouble = Callable[["FakeFarSide"], None]
SIZE = "size"


class FastInterruption(Interruption):
    """Sleeps no time, and remembers for how long it was to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        with self.allowed():
            pass


class FakeControl:
    """A control connection to a `FakeFarSide`."""

    local_address = ("198.18.1.1", 40_000)
    peer_address = ("198.18.2.1", 5810)

    def __init__(self, far_side: FakeFarSide) -> None:
        self._far_side = far_side
        self.closed = False

    def open_run(self, request: RunRequest) -> RunAccepted:
        self._far_side.opened.append(request)
        return self._far_side.accepted

    def clock_offset(self) -> ClockOffset:
        return ClockOffset(0.25, 0.01)

    def prepare(self, request: TransferRequest) -> Prepared:
        self._far_side.requests.append(request)
        return Prepared(request.number, self._far_side.prepare_capture_error, None)

    def finish(self, number: int, sent: Sent | None) -> FarEnd:
        request = self._far_side.requests[-1]
        assert number == request.number
        arrival = Arrival(
            request.bytes, 1_000, 2_000_000_000, self._far_side.verified.pop(0) if self._far_side.verified else True
        )
        counts = CaptureCounts(10, self._far_side.dropped.pop(0) if self._far_side.dropped else 0, None)
        return FarEnd(arrival=arrival, sent=None, tcp=None, capture=counts, error=None)

    def abort(self, number: int) -> None:
        pass

    def keep_alive(self) -> None:
        self._far_side.kept_alive += 1
        if self._far_side.keep_alive_error is not None:
            raise self._far_side.keep_alive_error

    def files(self) -> list[RemoteFile]:
        return list(self._far_side.files)

    def fetch(self, file: RemoteFile, write: Callable[[bytes], object], coming: Sequence[RemoteFile] = ()) -> None:
        self._far_side.fetched.append(file)
        self._far_side.send_file(file, write)

    def close(self) -> None:
        self.closed = True


class FakeFarSide:
    """A receiver: `troubles` are called one before each transfer (None: no trouble), and may raise."""

    def __init__(self, troubles: Sequence[Trouble | None] = ()) -> None:
        self.troubles = list(troubles)
        self.refusals: list[WireError] = []
        """Raised one at each connecting."""
        self.connected = 0
        self.opened: list[RunRequest] = []
        self.requests: list[TransferRequest] = []
        self.verified: list[bool] = []
        self.dropped: list[int] = []
        self.kept_alive = 0
        self.keep_alive_error: WireError | None = None
        self.prepare_capture_error: str | None = None
        self.files: list[RemoteFile] = []
        self.fetched: list[RemoteFile] = []
        self.contents: dict[int, bytes] = {}
        self.accepted = RunAccepted(
            run_id="a" * 32,
            limits=Limits(1 << 40, 1 << 50, 3600.0, 1e6, 64),
            vmtrace="1",
            python="3",
            host="there",
            capture_interface="eth0",
            capture_refusal=None,
            tls=False,
        )

    def connect(self) -> FakeControl:
        if self.refusals:
            raise self.refusals.pop(0)
        self.connected += 1
        return FakeControl(self)

    def transfer(
        self, control: object, request: TransferRequest, prepared: Prepared, watch: Watch, stall_s: float
    ) -> Outcome:
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is not None:
            trouble(self)
        watch.moved(request.bytes)
        names = (ConnectionName(0, "upload", "198.18.1.1:40001", "198.18.2.1:5810"),)
        return Outcome(5_000, 1_000_005_000, 1.0, 0.001, names, (), Sent((request.bytes,), ("0" * 64,)), None)

    def send_file(self, file: RemoteFile, write: Callable[[bytes], object]) -> None:
        write(self.contents[file.number])


def raising(error: BaseException) -> Trouble:
    """A trouble that raises."""

    def trouble(_far_side: FakeFarSide) -> None:
        raise error

    return trouble


class FakeCapture:
    """A recording that has the health it was given."""

    def __init__(self, health: CaptureHealth) -> None:
        self._health = health

    def stop(self) -> CaptureHealth:
        return self._health


class FakeInstruments:
    """Captures that drop or fail as told, one number or error for each in turn; no sampler takes samples."""

    def __init__(self, outcomes: Sequence[int | str | None] = (), sampling_error: str | None = None) -> None:
        self.outcomes = list(outcomes)
        self.sampling_error = sampling_error
        self.settings: list[CaptureSettings] = []

    def check(self, settings: CaptureSettings) -> None:
        pass

    def start_capture(self, settings: CaptureSettings, path: Path) -> FakeCapture:
        self.settings.append(settings)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome == "no start":
            raise CaptureError("there is no interface eth9")
        path.write_bytes(b"packets")
        health = healthy(settings)
        if isinstance(outcome, str):
            health = dataclasses.replace(health, error=outcome)
        elif outcome is not None:
            health = dataclasses.replace(health, dropped_by_kernel=outcome)
        return FakeCapture(health)

    def start_sampler(self, path: Path, interval_s: float) -> FakeSampler:
        path.write_text("samples")
        return FakeSampler(self.sampling_error)


class FakeSampler:
    """Has no samples."""

    def __init__(self, error: str | None) -> None:
        self.error = error

    def watch(self, stream: int, direction: str, sock: object) -> None:
        pass

    def unwatch(self, stream: int, direction: str) -> None:
        pass

    def finish(self) -> Sequence[TcpInfoSample]:
        return ()


def healthy(settings: CaptureSettings) -> CaptureHealth:
    """The health of a capture in which all went well."""
    return CaptureHealth(
        file="0001-probe.pcap",
        interface=settings.interface,
        filter=settings.filter,
        direction="both",
        snaplen=settings.snaplen,
        buffer_bytes=settings.buffer_bytes,
        link_type="EN10MB",
        time_source="host",
        time_resolution_s=1e-9,
        received=10,
        dropped_by_kernel=0,
        dropped_by_interface=0,
        written=10,
        captured_bytes=None,
        wire_bytes=None,
        first_packet_ns=None,
        last_packet_ns=None,
        start_ns=1,
        end_ns=2,
        offload=read_offload("lo"),
    )


def endless(plan: Plan, duration_s: float) -> Plan:
    """The same plan, limited by time."""
    return dataclasses.replace(plan, repeat=None, duration_s=duration_s)
