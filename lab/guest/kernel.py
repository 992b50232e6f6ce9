"""A guest kernel that runs one program: user-mode-linux on the host's file system, its network on a TAP device.

It boots in about two seconds. The guest's root is the host's, read-only; a few folders are writable. Its clock is set
by the host's at boot and runs with the host's monotonic clock, also while the guest is stopped.

The kernel is one process of the host (its guest programs are traced children). It lives in a process-id namespace of
its own, so that nothing of it outlives whoever started it, whatever ends it; `process_id` is what is to be stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vmtrace.lab import namespaces
from vmtrace.lab.guest import init
from vmtrace.lab.hosts import GUEST_DEVICE

_PROGRAMS = ("linux.uml", "linux")
_BOOT_S = 120.0
"""Two seconds where a processor is free; with 15 that wait for each it took more than 30."""
_MEMORY = "384M"
_RELEASE = 0  # no signal: the guest may end


class GuestError(RuntimeError):
    """The guest did not do what it was started for; the message is one line."""


def find() -> str | None:
    """The user-mode-linux program, or None where it is not installed."""
    for name in _PROGRAMS:
        path = shutil.which(name)
        if path and _is_user_mode_linux(path):
            return path
    return None


def _is_user_mode_linux(path: str) -> bool:
    done = subprocess.run([path, "--help"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return "User Mode Linux" in done.stdout


@dataclass(frozen=True, slots=True)
class GuestSettings:
    """What the guest is to be: its place on the network, what it may write, what it runs."""

    address: str
    router: str
    prefix_length: int
    mtu: int
    sysctls: Mapping[str, str]
    segmentation_offload: bool
    receive_offload: bool
    writable: tuple[Path, ...]
    program: tuple[str, ...]
    environment: Mapping[str, str]
    terminal_size: tuple[int, int] | None
    """Rows and columns, when what the program writes goes to somebody's terminal."""

    def __post_init__(self) -> None:
        for folder in self.writable:
            if not folder.is_absolute():
                raise ValueError(f"{folder}: name the guest's folder from the root, its working folder is another")

    def commands(self) -> list[list[str]]:
        """What sets the guest's network up."""
        segmentation, receive = _switch(self.segmentation_offload), _switch(self.receive_offload)
        lines = [
            "ip link set vec0 name eth0",
            f"ip link set eth0 mtu {self.mtu}",
            f"ip address add {self.address}/{self.prefix_length} dev eth0",
            "ip link set lo up",
            "ip link set eth0 up",
            f"ip route add default via {self.router}",
            f"ethtool -K eth0 tso {segmentation} gso {segmentation} gro {receive}",
        ]
        return [line.split() for line in lines]


def _switch(on: bool) -> str:
    return "on" if on else "off"


class GuestKernel:
    """A running guest. `wait` until its program has ended; `send_signal` reaches that program."""

    def __init__(self, process: subprocess.Popen[bytes], reports: IO[bytes], orders: IO[bytes], log: Path) -> None:
        self._process = process
        self._reports = reports
        self._orders = orders
        self._log = log
        self.release = ""
        self.clock_offset_s = 0.0
        """Guest's clock minus the host's when it was ready, less the time that the word took to come."""
        self.process_id = 0
        self.before_off: Callable[[], None] | None = None
        """Called when the program has ended and the guest is still there."""

    def wait_until_ready(self) -> None:
        """Returns when the guest has its network and starts the program."""
        self._order(self._compare_clocks_ns())
        self.clock_offset_s = self._compare_clocks_ns() / 1e9
        self.release = self._expect("ready")[1]
        self.process_id = _only_child(_only_child(self._process.pid))

    def _compare_clocks_ns(self) -> int:
        """Guest's clock minus the host's: of several looks the one whose word came fastest."""
        return max(self._expect("clock")[0] - time.time_ns() for _ in range(init.CLOCK_LOOKS))

    def _expect(self, wanted: str) -> tuple[int, str]:
        word, guest_ns, text = self._next_report(_BOOT_S)
        if word != wanted:
            raise GuestError(f"the guest kernel could not be set up: {text}")
        return guest_ns, text

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Exit status of the guest's program, or None when it still runs after `timeout_s`."""
        if timeout_s is not None and not select.select([self._reports], (), (), timeout_s)[0]:
            return None
        word, _, text = self._next_report(_BOOT_S)
        if word != "ended":
            raise GuestError(f"the guest kernel failed: {text}")
        if self.before_off:
            self.before_off()
        self.send_signal(_RELEASE)
        self._process.wait()
        return int(text)

    def send_signal(self, number: int) -> None:
        """Signal the guest's program."""
        with contextlib.suppress(BrokenPipeError):
            self._order(number)

    def _order(self, number: int) -> None:
        self._orders.write(f"{number}\n".encode())

    def _next_report(self, timeout_s: float) -> tuple[str, int, str]:
        if not select.select([self._reports], (), (), timeout_s)[0]:
            raise GuestError(f"the guest kernel does not answer{self._reason()}")
        line = self._reports.readline().decode(errors="replace")
        if not line.endswith("\n"):
            raise GuestError(f"the guest kernel ended{self._reason()}")
        return init.report_line(line)

    def _reason(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        panics = [line for line in lines if line.startswith("Kernel panic")]
        return f": {(panics or lines)[-1]}" if lines else ""


def _only_child(process_id: int) -> int:
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    if len(children) != 1:
        raise GuestError("the process of the guest kernel is not to be found")
    return int(children[0])


@contextmanager
def running(settings: GuestSettings, namespace: str, output: IO[bytes], log: Path) -> Iterator[GuestKernel]:
    """Boot a guest on the TAP device of a namespace; what its program writes goes to `output`. Ended afterwards."""
    program = find()
    if program is None:
        raise GuestError("no user-mode-linux here (Debian: user-mode-linux)")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vmtrace-guest-")))
        _write_init(folder, settings)
        (terminal, to_terminal), (reports, to_reports), (from_orders, orders) = (_pipe(stack) for _ in range(3))
        console = stack.enter_context(log.open("wb"))
        copier = threading.Thread(target=_copy, args=(terminal, output), daemon=True)
        stack.callback(copier.join, 5.0)
        lines = [_Line(None, console), _Line(None, to_terminal), _Line(None, to_reports), _Line(from_orders, None)]
        process = _boot(program, namespace, folder, lines, _environment(folder))
        stack.callback(_end, process)
        for end in (to_terminal, to_reports, from_orders):
            end.close()
        copier.start()
        guest = GuestKernel(process, reports, orders, log)
        guest.wait_until_ready()
        yield guest


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a serial line of the guest comes from and goes to."""

    source: IO[bytes] | None
    sink: IO[bytes] | None

    def words(self) -> str:
        return ",".join("null" if end is None else f"fd:{end.fileno()}" for end in (self.source, self.sink))

    def descriptors(self) -> list[int]:
        return [end.fileno() for end in (self.source, self.sink) if end is not None]


def _pipe(stack: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    source, sink = os.pipe()
    return (
        stack.enter_context(os.fdopen(source, "rb", buffering=0)),
        stack.enter_context(os.fdopen(sink, "wb", buffering=0)),
    )


def _write_init(folder: Path, settings: GuestSettings) -> None:
    """The guest's first program with its settings, under names that a kernel's command line can hold."""
    (folder / "settings.json").write_text(json.dumps(_init_settings(settings)))
    words = [sys.executable, str(Path(init.__file__).resolve()), str(folder / "settings.json")]
    (folder / "init").write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
    (folder / "init").chmod(0o700)


def _init_settings(settings: GuestSettings) -> dict[str, object]:
    environment = {**settings.environment, "TMPDIR": "/dev/shm", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PATH"] = f"{environment.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    return {
        "commands": settings.commands(),
        "sysctls": dict(settings.sysctls),
        "writable": [str(folder) for folder in settings.writable],
        "program": settings.program,
        "environment": environment,
        "terminal": settings.terminal_size,
    }


def _environment(folder: Path) -> dict[str, str]:
    """What user-mode-linux itself is started with: what lets it run on processors with AMX (`wide_registers.c`)."""
    compiler = shutil.which("cc")
    if compiler is None or " amx_tile" not in Path("/proc/cpuinfo").read_text():
        return dict(os.environ)
    library = folder / "wide_registers.so"
    source = Path(__file__).resolve().with_name("wide_registers.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}


def _boot(
    program: str, namespace: str, folder: Path, lines: Sequence[_Line], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    command = [*namespaces.exec_prefix(namespace), "unshare", "--pid", "--fork", "--kill-child=KILL"]
    # The kernel must not be process 1: that one ignores the signal by which it ends itself when it panics.
    command += ["sh", "-c", '"$@" & wait "$!"', "sh", program]
    command += [f"mem={_MEMORY}", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"]
    command += [f"uml_dir={folder}", "umid=guest", f"vec0:transport=tap,ifname={GUEST_DEVICE},depth=128,gro=1"]
    command += ["con=null", *(f"con{number}={line.words()}" for number, line in enumerate(lines))]
    return subprocess.Popen(
        [*command, f"init={folder / 'init'}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        pass_fds=[end for line in lines for end in line.descriptors()],
        start_new_session=True,
    )


def _copy(source: IO[bytes], output: IO[bytes]) -> None:
    while content := source.read(65536):
        output.write(content)
        output.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
