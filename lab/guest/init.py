"""The first program of a guest kernel: sets the guest up, runs one program, says how it ended, switches the guest off.

It runs inside the guest as process 1, with the host's file system (read-only) as root. It talks to `kernel.GuestKernel`
over two serial lines: `_REPORTS` out, `_ORDERS` in; the program has the terminal `_TERMINAL`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import IO, Any, NoReturn

_TERMINAL = "/dev/tty1"
_REPORTS = "/dev/tty2"
_ORDERS = "/dev/tty3"
CLOCK_LOOKS = 10
_TIME_WAIT = "06"
_CLOSE_S = 5.0
_RELEASE_S = 2.0
_released = threading.Event()  # the host has seen all it wants to see of the running guest


class Reports:
    """Lines to the host: a word, the guest's clock, and what the word is about."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, word: str, text: str = "") -> None:
        """One line; the host compares the clock with its own."""
        os.write(self._descriptor, f"{word} {time.time_ns()} {text}\n".encode())


def report_line(line: str) -> tuple[str, int, str]:
    """Word, guest's clock and text of a line that `Reports.say` wrote."""
    word, time_ns, text = line.rstrip("\n").split(" ", 2)
    return word, int(time_ns), text


def main() -> NoReturn:
    """Process 1 of the guest: never returns, the guest ends with it."""
    settings = json.loads(Path(sys.argv[1]).read_text())
    _mount("proc", "/proc", "proc")
    _mount("sys", "/sys", "sysfs")
    Path("/dev/shm").mkdir(exist_ok=True)
    _mount("shm", "/dev/shm", "tmpfs")
    reports = Reports(_plain_line(_REPORTS, os.O_WRONLY))
    try:
        status = _run(settings, reports)
        wait_until_closed(Path("/proc/net/tcp"), _CLOSE_S)
        os.sync()
        reports.say("ended", str(status))
        _released.wait(_RELEASE_S)
    except (OSError, RuntimeError) as error:
        reports.say("failed", str(error))
    finally:
        switch_off()


def _run(settings: dict[str, Any], reports: Reports) -> int:
    for folder in settings["writable"]:
        _mount(folder, folder, "hostfs", folder)
    os.environ.update(settings["environment"])
    for words in settings["commands"]:
        _command(words)
    for name, value in settings["sysctls"].items():
        Path("/proc/sys", name.replace(".", "/")).write_text(value)
    orders = os.fdopen(_plain_line(_ORDERS, os.O_RDONLY), "rb", buffering=0)
    _set_clock(reports, orders)
    reports.say("ready", os.uname().release)
    terminal = _terminal(settings)
    to_terminal = settings["terminal"] is not None
    process = subprocess.Popen(
        settings["program"],
        stdin=subprocess.DEVNULL,
        stdout=terminal if to_terminal else subprocess.PIPE,
        stderr=terminal if to_terminal else subprocess.STDOUT,
        cwd="/",
    )
    threading.Thread(target=_obey, args=(process, orders), daemon=True).start()
    while process.stdout and (content := os.read(process.stdout.fileno(), 65536)):
        os.write(terminal, content)
    return process.wait()


def wait_until_closed(table: Path, longest_s: float) -> None:
    """A program may end while its kernel still repeats a FIN: the guest stays until no connection is left."""
    deadline_s = time.monotonic() + longest_s
    while time.monotonic() < deadline_s:
        states = {line.split()[3] for line in table.read_text().splitlines()[1:]}
        if states <= {_TIME_WAIT}:
            return
        time.sleep(0.05)


def _command(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")


def _set_clock(reports: Reports, orders: IO[bytes]) -> None:
    """Let the host compare the clocks, correct ours, let it compare again.

    A guest that loses the processor between its first two looks at the host's clocks starts with a wrong one.
    """
    _show_clock(reports)
    error_ns = int(orders.readline())
    time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns() - error_ns)
    _show_clock(reports)


def _show_clock(reports: Reports) -> None:
    for _ in range(CLOCK_LOOKS):
        reports.say("clock")
        time.sleep(0.005)


def _obey(process: subprocess.Popen[bytes], orders: IO[bytes]) -> None:
    """Pass signals on: each line of orders is the number of one, and 0 lets the guest end."""
    for line in orders:
        number = int(line)
        if number:
            process.send_signal(signal.Signals(number))
        else:
            _released.set()


def _terminal(settings: dict[str, Any]) -> int:
    terminal = _plain_line(_TERMINAL, os.O_RDWR)
    if settings["terminal"]:
        termios.tcsetwinsize(terminal, tuple(settings["terminal"]))
    return terminal


def _plain_line(path: str, flags: int) -> int:
    """A serial line that changes nothing on its way: no echo, no line discipline."""
    descriptor = os.open(path, flags | os.O_NOCTTY)
    attributes = termios.tcgetattr(descriptor)
    attributes[0] = attributes[1] = attributes[3] = 0
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    return descriptor


def _mount(source: str, target: str, kind: str, data: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), 0, data.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind} at {target}: {os.strerror(number)}")


def switch_off() -> NoReturn:
    """End the guest."""
    Path("/proc/sysrq-trigger").write_text("o")
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
