"""Carries a campaign out: hosts, path, both programs, stalls; then the truth, left in `RUN/lab/`.

While it runs, the lab's files are in `RUN.lab` beside the run folder, which is the sender's alone. Whatever happens
(failure, Ctrl-C, SIGTERM) the hosts are gone afterwards and the files are kept.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vmtrace.lab import cpu_quota, kernel_counters, namespaces, shared_processor
from vmtrace.lab import evidence as machine
from vmtrace.lab.campaign import evidence, programs
from vmtrace.lab.campaign.settings import Campaign, CampaignError, Host
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.guest import kernel
from vmtrace.lab.hosts import (
    PREFIX_LENGTH,
    ROUTERS,
    EmulatedPath,
    HostSettings,
    Topology,
    joined_hosts,
    module_environment,
    route_congestion_control,
)
from vmtrace.lab.hosts import Host as LabHost
from vmtrace.lab.stalls import FrozenHost, GuestKernelHost, Stalling
from vmtrace.lab.stalls import Host as StallingHost

_POLL_S = 0.2
_CLOSE_S = 5.0
_LARGE_LOG_BYTES = 50_000_000  # reading it takes seconds
_INTERRUPTED_S = 20.0  # the sender's time to end in good order


Tell = Callable[[str], None]
"""Takes one line for the user."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a campaign ended. `interrupted` is the signal that ended it early, or 0."""

    truth: dict[str, Any]
    sender_status: int
    interrupted: int

    @property
    def good(self) -> bool:
        """The sender did its plan, and the lab's truth may be relied on."""
        return bool(self.truth["good"]) and self.sender_status == 0

    @property
    def doubtful(self) -> list[str]:
        """Of a run that is as good as a busy machine lets it be: the figures that are doubtful."""
        return self.truth.get("doubtful", []) if self.sender_status == 0 else []


def run(campaign: Campaign, run_folder: Path, tell: Tell) -> Outcome:
    """Run a campaign into a new folder.

    Raises `CampaignError`, `LabUnavailableError` or `GuestError`, each of one line, when it could not be carried out.
    """
    namespaces.require()
    run_folder = run_folder.absolute()
    if run_folder.exists() and any(run_folder.iterdir()):
        raise CampaignError(f"{run_folder} is not empty: give --out a new folder")
    work = run_folder.with_name(run_folder.name + ".lab")
    with _lab_files(work, run_folder):
        try:
            return _run(campaign, run_folder, work, tell)
        except BaseException as error:
            evidence.write_failure(campaign, work, str(error) or type(error).__name__)
            raise


@contextmanager
def _lab_files(work: Path, run_folder: Path) -> Iterator[None]:
    """The lab's folder beside the run, and at the end in it."""
    try:
        work.mkdir(mode=0o700, parents=True)
    except FileExistsError as error:
        raise CampaignError(f"{work} is left from another run, or one is running: remove it") from error
    try:
        yield
    finally:
        run_folder.mkdir(mode=0o700, exist_ok=True)
        work.rename(run_folder / "lab")


def _run(campaign: Campaign, run_folder: Path, work: Path, tell: Tell) -> Outcome:
    profile = campaign.profile
    settings = {role: _host_settings(campaign, role) for role in ("sender", "receiver")}
    topology = Topology.GUEST if campaign.sender_host is Host.GUEST_KERNEL else Topology.OFFLOAD
    emulator = EmulatorSettings(profile.forward, profile.reverse, campaign.seed)
    start_ns, stolen_s = time.time_ns(), machine.stolen_cpu_s()
    with joined_hosts(topology, campaign.ip_version, profile.mtu, settings, emulator, work) as path:
        if campaign.congestion_control:
            for host in _own_hosts(path, topology):
                route_congestion_control(host, campaign.ip_version)
        hands = _Hands(campaign, path, settings["sender"], run_folder, work)
        status, interrupted = hands.transfer(tell)
        _wait_until_closed(path, topology)
        report = path.finish()
        drops = hands.device_drops()
    end_ns = time.time_ns()
    log_bytes = path.log_path.stat().st_size
    if log_bytes >= _LARGE_LOG_BYTES:
        tell(f"reading the log of {log_bytes / 1e6:.0f} MB: the fate of every packet")
    stall_log = work / "stalls.csv" if campaign.stalls and profile.stalls else None
    stolen_s = round(machine.stolen_cpu_s() - stolen_s, 2)
    known = evidence.Witnesses(
        campaign, start_ns, end_ns, report, drops, stolen_s, status, hands.guest_facts, stall_log
    )
    truth = evidence.write(known, path.log_path, run_folder, work)
    _tidy(work, run_folder)
    return Outcome(truth, status, interrupted)


def _host_settings(campaign: Campaign, role: str) -> HostSettings:
    profile = campaign.profile
    settings = profile.sender if role == "sender" else profile.receiver
    if campaign.congestion_control:
        settings = replace(settings, congestion_control=campaign.congestion_control)
    if campaign.offload:
        return settings
    return replace(settings, segmentation_offload=False, receive_offload=False)


def _own_hosts(path: EmulatedPath, topology: Topology) -> list[LabHost]:
    """The hosts that are namespaces of this machine."""
    return [host for host in path.hosts.values() if not (topology is Topology.GUEST and host.role == "sender")]


class _Hands:
    """Starts what runs in the hosts, and waits for its end."""

    def __init__(
        self, campaign: Campaign, path: EmulatedPath, sender: HostSettings, run_folder: Path, work: Path
    ) -> None:
        self._campaign = campaign
        self._path = path
        self._sender_settings = sender
        self._run_folder = run_folder
        self._work = work
        self.guest_facts: dict[str, Any] | None = None
        self._drops_before = path.device_drops()
        self._drops: int | None = None

    def device_drops(self) -> int:
        """Packets that devices dropped during the campaign."""
        if self._drops is None:
            self._count_drops()
        return self._drops or 0

    def _count_drops(self) -> None:
        self._drops = self._path.device_drops() - self._drops_before

    def transfer(self, tell: Tell) -> tuple[int, int]:
        """Both programs, until the sender has ended; its exit status, and the signal that ended it early or 0."""
        address = self._path.hosts["receiver"].address
        with ExitStack() as stack:
            keys = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vmtrace-lab-")))
            key_file = keys / "key"
            _write_key(key_file)
            received = self._work / "receiver"
            command = programs.receiver_command(self._campaign, address, key_file, received)
            log = self._work / "receiver.log"
            receiver = stack.enter_context(programs.receiver(self._path.hosts["receiver"], command, log))
            words = programs.sender_command(self._campaign, address, key_file, self._run_folder)
            sender, stalling_host = self._start_sender(stack, words)
            stalling = self._stalling(stalling_host)
            if stalling:
                tell(f"stalls: {stalling_host.kind}")
                stalling.start()
                stack.callback(stalling.finish)
            return self._wait(sender, receiver.poll, stalling)

    def _start_sender(self, stack: ExitStack, words: list[str]) -> tuple[programs.SenderProgram, StallingHost]:
        if self._campaign.sender_host is Host.GUEST_KERNEL:
            guest = stack.enter_context(self._guest(words))
            # What comes for the guest while it boots, or when it is gone, is no loss of the campaign.
            self._drops_before = self._path.device_drops()
            guest.before_off = self._count_drops
            self.guest_facts = {"kernel": guest.release, "clock_offset_s": round(guest.clock_offset_s, 6)}
            return programs.GuestSender(guest), GuestKernelHost(guest.process_id)
        shared = self._campaign.profile.shared
        visible = cpu_quota.visible_again() if shared else []
        sender = stack.enter_context(programs.namespace_sender(self._path.hosts["sender"], [*visible, *words]))
        if shared:
            _wait_until_open(self._path.hosts["sender"], sender)  # a program that starts needs more than it will get
            stack.enter_context(shared_processor.shared(shared, sender.process.pid))
        return sender, FrozenHost(sender.process.pid, self._path.emulator.pid)

    def _guest(self, words: list[str]) -> contextlib.AbstractContextManager[kernel.GuestKernel]:
        host, version = self._path.hosts["sender"], self._campaign.ip_version
        # The sender makes the run folder, so that its parent must be writable.
        settings = kernel.GuestSettings(
            address=host.address,
            router=ROUTERS[version]["sender"],
            prefix_length=PREFIX_LENGTH[version],
            mtu=self._campaign.profile.mtu,
            sysctls={**self._sender_settings.as_sysctls(), **self._guest_default()},
            segmentation_offload=self._sender_settings.segmentation_offload,
            receive_offload=self._sender_settings.receive_offload,
            writable=(self._run_folder.parent,),
            program=tuple(words),
            environment=module_environment(),
            terminal_size=_terminal_size(),
        )
        return kernel.running(settings, host.namespace, sys.stdout.buffer, self._work / "guest.log")

    def _guest_default(self) -> dict[str, str]:
        wanted = self._campaign.congestion_control
        return {"net.ipv4.tcp_congestion_control": wanted} if wanted else {}

    def _stalling(self, host: StallingHost) -> Stalling | None:
        stalls = self._campaign.profile.stalls if self._campaign.stalls else None
        return Stalling(stalls, self._campaign.seed, host, self._work / "stalls.csv") if stalls else None

    def _wait(
        self, sender: programs.SenderProgram, receiver_status: Callable[[], int | None], stalling: Stalling | None
    ) -> tuple[int, int]:
        interrupted = 0
        deadline_s = float("inf")
        while True:
            try:
                status = sender.wait(_POLL_S)
                if status is not None:
                    return status, interrupted
                self._check(receiver_status)
            except (KeyboardInterrupt, SystemExit) as error:
                if interrupted:
                    raise  # asked twice: at once
                interrupted = signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM
                deadline_s = time.monotonic() + _INTERRUPTED_S
                if stalling:
                    stalling.finish()  # what stands still cannot end in good order
                sender.send_signal(interrupted)
            if time.monotonic() > deadline_s:
                raise CampaignError(f"the sender did not end within {_INTERRUPTED_S:g} s of signal {interrupted}")

    def _check(self, receiver_status: Callable[[], int | None]) -> None:
        status = self._path.emulator.poll()
        if status is not None:
            raise CampaignError(f"the path emulator ended with status {status}: the campaign cannot go on")
        status = receiver_status()
        if status is not None:
            log = self._work / "receiver.log"
            raise CampaignError(f"the receiver ended with status {status}: {programs.last_line(log)}")


def _write_key(path: Path) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32) + "\n")


def _terminal_size() -> tuple[int, int] | None:
    if not sys.stdout.isatty():
        return None
    size = shutil.get_terminal_size()
    return size.lines, size.columns


def _wait_until_open(host: LabHost, sender: programs.SenderProgram) -> None:
    """The sender's first connection; where it ended without one, who waits for it will say so."""
    while not kernel_counters.open_connections(host.namespace) and sender.wait(0.05) is None:
        pass


def _wait_until_closed(path: EmulatedPath, topology: Topology) -> None:
    """A program may end while its kernel still repeats a FIN: the campaign is over when no connection is left."""
    hosts = _own_hosts(path, topology)
    deadline_s = time.monotonic() + _CLOSE_S
    while any(kernel_counters.open_connections(host.namespace) for host in hosts) and time.monotonic() < deadline_s:
        time.sleep(0.05)


def _tidy(work: Path, run_folder: Path) -> None:
    """Remove what the truth has been made of, and the receiver's half when the sender has fetched it."""
    for name in ("fates.bin", "path.json", "emulator.json"):
        (work / name).unlink(missing_ok=True)
    if (run_folder / "packets" / "receiver").is_dir():
        shutil.rmtree(work / "receiver", ignore_errors=True)
