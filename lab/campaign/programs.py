"""The two programs of a campaign, each in its host: their command lines, their start, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from vmtrace.lab import namespaces
from vmtrace.lab.campaign.settings import PORT, Campaign, CampaignError
from vmtrace.lab.guest.kernel import GuestKernel
from vmtrace.lab.hosts import Host, module_environment

_START_S = 15.0
_END_S = 15.0
_LISTENING = "0A"  # TCP_LISTEN in /proc/net/tcp


class SenderProgram(Protocol):
    """The sender wherever it runs."""

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or None when it still runs after that time."""

    def send_signal(self, number: int) -> None:
        """Signal it."""


class NamespaceSender:
    """The sender as a process of this machine, in a session of its own: Ctrl-C reaches it through us."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or None when it still runs after that time."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Signal it."""
        self.process.send_signal(number)


class GuestSender:
    """The sender as the program of a guest kernel."""

    def __init__(self, guest: GuestKernel) -> None:
        self._guest = guest

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or None when it still runs after that time."""
        return self._guest.wait(timeout_s)

    def send_signal(self, number: int) -> None:
        """Signal it."""
        self._guest.send_signal(number)


def receiver_command(campaign: Campaign, address: str, key_file: Path, folder: Path) -> list[str]:
    """The command line of the receiver."""
    words = [*campaign.receiver_program, "--key-file", str(key_file), "--bind", address, "--port", str(PORT)]
    return [*words, "--out", str(folder), *_capture(campaign, "eth0")]


def sender_command(campaign: Campaign, address: str, key_file: Path, run_folder: Path) -> list[str]:
    """The command line of the sender."""
    words = [*campaign.sender_program, address, "--key-file", str(key_file), "--port", str(PORT)]
    return [*words, "--out", str(run_folder), *campaign.sender_arguments, *_capture(campaign, "eth0")]


def _capture(campaign: Campaign, interface: str) -> list[str]:
    return ["--interface", interface] if campaign.capture else ["--no-capture"]


@contextmanager
def receiver(host: Host, command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The receiver, listening; asked to end afterwards, and made to."""
    with log.open("wb") as said, _process(host, command, said.fileno()) as process:
        deadline_s = time.monotonic() + _START_S
        while not _listens(host.namespace):
            if process.poll() is not None:
                raise CampaignError(f"the receiver did not start: {last_line(log)}")
            if time.monotonic() > deadline_s:
                raise CampaignError(f"the receiver does not listen after {_START_S:g} s, see {log}")
            time.sleep(0.02)
        yield process


@contextmanager
def namespace_sender(host: Host, command: list[str]) -> Iterator[NamespaceSender]:
    """The sender in its namespace, writing where we write."""
    sys.stdout.flush()
    with _process(host, command, None) as process:
        yield NamespaceSender(process)


@contextmanager
def _process(host: Host, command: list[str], output: int | None) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*namespaces.exec_prefix(host.namespace), *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=module_environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a program to end, and end it when it does not, with all that it started."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it started and left


def last_line(log: Path) -> str:
    """The last thing a program said, which is why it ended."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _listens(namespace: str) -> bool:
    with namespaces.inside(namespace):
        for name in ("tcp", "tcp6"):
            path = Path("/proc/thread-self/net", name)
            for line in path.read_text().splitlines()[1:] if path.exists() else []:
                words = line.split()
                if words[3] == _LISTENING and int(words[1].rpartition(":")[2], 16) == PORT:
                    return True
    return False
