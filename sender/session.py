"""One session of a run, from the first word with the receiver to the summary: what `vmtrace send` does.

Owns what is set up and taken down around a campaign: the folder, the line to the receiver, host counters, the fetching
of the receiver's half.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Callable

from vmtrace.capture.campaign import COMPLETE, End
from vmtrace.capture.clock import clock_state
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.host_record import HostRecord
from vmtrace.capture.instance_metadata import check_setting
from vmtrace.capture.interfaces import interface_towards
from vmtrace.capture.interruption import Interruption
from vmtrace.capture.settings import CaptureSettings
from vmtrace.formats.provenance import vmtrace_version
from vmtrace.formats.quantities import shown_bytes, shown_s
from vmtrace.sender.baseline import baseline_of
from vmtrace.sender.campaign import Campaign
from vmtrace.sender.display.view import Display, RunEnd, RunView
from vmtrace.sender.errors import SenderError
from vmtrace.sender.far_side import FarSide, OverTheWire
from vmtrace.sender.instruments import Instruments, RealInstruments
from vmtrace.sender.link import Link, Patience
from vmtrace.sender.plan import Plan, TransferPlan
from vmtrace.sender.receiver_half import MISSING, ReceiverHalf, fetch_half, missing_half
from vmtrace.sender.run_folder import RunFolder, pair_records
from vmtrace.sender.settings import Settings
from vmtrace.sender.transfers import Transfers
from vmtrace.sender.wire.endpoint import Endpoint, plain_host
from vmtrace.sender.wire.errors import ReceiverBusy, ReceiverGone, WireError
from vmtrace.sender.wire.program import DONE, FAILED, describe
from vmtrace.sender.wire.program import INTERRUPTED as BY_SIGNAL
from vmtrace.sender.wire.records import RunAccepted, RunRequest

Record = dict[str, Any]


@dataclass(frozen=True)
class Order:
    """What a session is to do, beside what stands in its run folder."""

    endpoint: Endpoint
    key: bytes
    fetch: bool = True
    receiver_capture: bool = True


def send(
    folder: RunFolder,
    order: Order,
    display: Display,
    complain: Callable[[str], None],
    instruments: Instruments | None = None,
    far_side: FarSide | None = None,
) -> int:
    """Do, or go on with, the run in this folder. Returns the exit status.

    Raises `SenderError` or `WireError` for what keeps a session from beginning; later trouble is told by `complain`.
    """
    far_side = far_side or OverTheWire(order.endpoint, order.key)
    instruments = instruments or RealInstruments()
    with ExitStack() as stack:
        interruption = stack.enter_context(Interruption())
        stack.callback(display.close)
        session = _Session(folder, order, display, instruments, far_side, interruption)
        stack.callback(session.link.drop)
        session.begin()
        ended = session.run_campaign()
        try:
            half = session.fetch(ended)
        except OSError as error:
            # A full disk, most likely: run.json stays as it is, as after `kill -9`.
            shown = ended.error or describe(error)
            raise SenderError(f"{shown}: to go on: vmtrace send --resume {folder.path} --key-file FILE") from error
        if ended.status == COMPLETE and half is not None and half.status != COMPLETE:
            complain(f"{half.error}: what is missing comes with: vmtrace fetch {folder.path} --key-file FILE")
        if ended.error is not None:
            complain(f"{ended.error}: to go on: vmtrace send --resume {folder.path} --key-file FILE")
    return _exit_status(ended, folder, half)


def fetch(folder: RunFolder, order: Order, display: Display, complain: Callable[[str], None]) -> int:
    """Get the receiver's half of a run that is over, or was killed. Returns the exit status."""
    if folder.run_id is None:
        raise SenderError(f"{folder.path}: the receiver was never reached in this run: there is nothing to fetch")
    with Interruption() as interruption, ExitStack() as stack:
        stack.callback(display.close)
        link = Link(OverTheWire(order.endpoint, order.key), lambda: RunRequest(folder.run_id, False), interruption)
        stack.callback(link.drop)
        try:
            half = fetch_half(link.control, folder.path, interruption, display.fetching)
        except KeyboardInterrupt:
            complain("interrupted: what was fetched stays, and the rest comes with the same command")
            return BY_SIGNAL
        folder.note(receiver_half=half.as_record())
        display.fetched(half.status, half.files, half.bytes, half.error)
    if half.error is not None:
        complain(half.error)
    return DONE if half.status == COMPLETE else FAILED


class _Session:
    def __init__(
        self,
        folder: RunFolder,
        order: Order,
        display: Display,
        instruments: Instruments,
        far_side: FarSide,
        interruption: Interruption,
    ) -> None:
        self.link = Link(far_side, self._run_request, interruption)
        self._folder = folder
        self._order = order
        self._display = display
        self._instruments = instruments
        self._far_side = far_side
        self._interruption = interruption
        self._settings: Settings = folder.settings
        self._capture: CaptureSettings | None = None

    def begin(self) -> None:
        """Reach the receiver and see that the plan can be done; only then is there a session in the folder."""
        if self._settings.host_counters and self._settings.instance_metadata:
            check_setting()
        if self._settings.capture and self._settings.interface is not None:
            self._capture = self._checked_capture(self._settings.interface)
        try:
            accepted = self._reached()
        except KeyboardInterrupt:
            raise SenderError("interrupted before the receiver was reached") from None
        check_limits(self._folder.plan, accepted)
        if self._settings.capture and self._capture is None:
            self._capture = self._checked_capture(interface_towards(plain_host(self.link.control.peer_address[0])))
        self._folder.begin_session(time.time_ns())
        self._note_parties(accepted)
        self._display.started(self._view(accepted))
        if accepted.capture_refusal is not None:
            self._display.noticed(f"the receiver records no packets: {accepted.capture_refusal}")

    def _reached(self) -> RunAccepted:
        """The receiver's acceptance. A run that it had is waited for, as one that breaks off; a new one is not."""
        patience = Patience(self._settings.patience_s)
        while (accepted := self._accepted(patience)) is None:
            continue
        return accepted

    def _accepted(self, patience: Patience) -> RunAccepted | None:
        try:
            return self.link.accepted
        except (ReceiverGone, ReceiverBusy) as error:
            wait_s = patience.next_wait_s() if self._folder.run_id is not None else None
            if wait_s is None:
                raise
            self._display.noticed(f"{describe(error)}; trying again in {shown_s(wait_s)}")
            self._interruption.sleep(wait_s)
            return None

    def run_campaign(self) -> End:
        """The pairs, with host counters around them."""
        folder, settings = self._folder, self._settings
        address = self.link.control.peer_address[0]
        with ExitStack() as stack:
            if settings.host_counters:
                interface = (
                    None if self._capture is None or self._capture.interface == "any" else self._capture.interface
                )
                host = begin_host_record(folder, interface, metadata=settings.instance_metadata)
                stack.callback(self._stop_counters, host)
            baseline = None
            if settings.ping:
                interval_s = settings.ping_interval_s
                baseline = baseline_of(self._order.endpoint, address, folder, self._interruption, interval_s)
                stack.callback(baseline.close)
            transfers = Transfers(
                self._far_side, self.link, self._instruments, folder, self._capture, self._interruption
            )
            self._campaign = Campaign(folder, self.link, transfers.run, baseline, self._display, self._interruption)
            for record in pair_records(folder.path):
                self._campaign.tally.add(record)
            return self._campaign.run()

    def fetch(self, ended: End) -> ReceiverHalf | None:
        """The receiver's half after a complete run, then the end of the session; None where it was not asked for."""
        half = None
        if ended.status == COMPLETE and self._order.fetch:
            half = self._fetch_half()
            self._display.fetched(half.status, half.files, half.bytes, half.error)
        noted = half or missing_half("not fetched yet: vmtrace fetch")
        if half is not None or not self._folder.receiver_half_complete:
            self._folder.note(receiver_half=noted.as_record())
        self._folder.end(ended.status, ended.error)
        tally = self._campaign.tally
        summary = tally.summary(self._folder.plan, str(self._folder.path), ended.status, ended.error)
        self._display.ended(RunEnd(ended.status, ended.error, summary, tally.as_record()))
        return half

    def _stop_counters(self, host: HostRecord) -> None:
        error = host.stop()
        if error is not None:
            self._display.noticed(error)

    def _fetch_half(self) -> ReceiverHalf:
        try:
            return fetch_half(self.link.control, self._folder.path, self._interruption, self._display.fetching)
        except KeyboardInterrupt:
            return ReceiverHalf(MISSING, 0, 0, "interrupted while the receiver's files were fetched")
        except WireError as error:
            return missing_half(str(error))

    def _checked_capture(self, interface: str) -> CaptureSettings:
        settings = CaptureSettings(
            interface=interface, snaplen=self._settings.snaplen, buffer_bytes=self._settings.capture_buffer_bytes
        )
        try:
            self._instruments.check(settings)
        except CaptureError as error:
            raise SenderError(f"{error} (or --no-capture, to go on without recording packets here)") from error
        return settings

    def _run_request(self) -> RunRequest:
        return RunRequest(self._folder.run_id, self._order.receiver_capture, self._settings.snaplen)

    def _note_parties(self, accepted: RunAccepted) -> None:
        control, endpoint = self.link.control, self._order.endpoint
        offset = control.clock_offset()
        sender = {
            "address": control.local_address[0],
            "port": control.local_address[1],
            "host": platform.node(),
            "vmtrace": vmtrace_version(),
            "python": platform.python_version(),
            "capture": _capture_record(self._capture),
        }
        far_capture = accepted.capture_interface
        receiver = {
            "address": control.peer_address[0],
            "port": control.peer_address[1],
            "name": endpoint.host,
            "host": accepted.host,
            "vmtrace": accepted.vmtrace,
            "python": accepted.python,
            "capture": None
            if far_capture is None
            else {"interface": far_capture, "snaplen": self._settings.snaplen, "buffer_bytes": None},
        }
        clock = {**dataclasses.asdict(offset), "sender": clock_state().as_record()}
        self._folder.note(id=accepted.run_id, sender=sender, receiver=receiver, clock=clock)

    def _view(self, accepted: RunAccepted) -> RunView:
        here = "not at this side" if self._capture is None else f"here on {self._capture.interface}"
        there = (
            "not at the receiver" if accepted.capture_interface is None else f"there on {accepted.capture_interface}"
        )
        neither = self._capture is None and accepted.capture_interface is None
        return RunView(
            folder=str(self._folder.path),
            run_id=accepted.run_id,
            plan=self._folder.plan,
            finished=self._folder.finished,
            earlier_s=self._folder.earlier_s,
            receiver=f"{self._order.endpoint} ({accepted.host})",
            capture="packets are not recorded" if neither else f"packets are recorded: {here}, {there}",
        )


def check_limits(plan: Plan, accepted: RunAccepted) -> None:
    """Raise `SenderError` for a plan that the receiver would refuse in its midst."""
    limits = accepted.limits
    for entry in plan.entries:
        for part, transfer in (("probe", entry.probe), ("data", entry.data)):
            place = f"entry {entry.index}, {part}"
            _check_transfer(place, transfer, accepted)
            if transfer.moved_bytes > min(limits.transfer_bytes, limits.session_bytes):
                most = shown_bytes(min(limits.transfer_bytes, limits.session_bytes))
                raise SenderError(f"{place}: {shown_bytes(transfer.moved_bytes)}, and the receiver allows {most}")


def _check_transfer(place: str, transfer: TransferPlan, accepted: RunAccepted) -> None:
    if transfer.streams > accepted.limits.streams:
        raise SenderError(f"{place}: {transfer.streams} streams, and the receiver allows {accepted.limits.streams}")
    if transfer.tls and not accepted.tls:
        raise SenderError(f"{place}: TLS, which the receiver cannot do (it needs openssl, or --certificate)")


def _capture_record(settings: CaptureSettings | None) -> Record | None:
    if settings is None:
        return None
    return {
        "interface": settings.interface,
        "snaplen": settings.snaplen,
        "buffer_bytes": settings.buffer_wanted_bytes(),
    }


def _exit_status(ended: End, folder: RunFolder, half: ReceiverHalf | None) -> int:
    if ended.by_signal:
        return BY_SIGNAL
    whole = ended.status == COMPLETE and folder.failed == 0 and (half is None or half.status == COMPLETE)
    return DONE if whole else FAILED


def begin_host_record(folder: RunFolder, interface: str | None, *, metadata: bool) -> HostRecord:
    """Each session of a run has counters of its own."""
    facts, counters = folder.path_of("facts", 0, ""), folder.path_of("host", folder.sessions, "")
    return HostRecord(facts, counters, interface, metadata=metadata)
