"""The programs that record, started the same way: same interface, buffer, snap length, filter; one pcap file each."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vmtrace.lab import namespaces

ROOT = Path(__file__).parent.parent
_STARTS_WITHIN_S = 10.0
# After the last packet. The kernel hands over the last part of the buffer when it is old: for tcpdump after a second,
# and what it has not been handed when it is interrupted is lost to it without being counted.
_SETTLE_S = 2.2


@dataclass(frozen=True, slots=True)
class Settings:
    """What all of them are told."""

    interface: str
    buffer_mib: int
    snaplen: int
    filter: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one says it wrote and lost, and the processor time it took."""

    written: int
    dropped: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Recorder:
    """A program: its command line, the words that say it has begun, and how its last words are read."""

    name: str
    command: Callable[[Settings, Path], Sequence[str]]
    begun: str
    written: re.Pattern[str]
    dropped: re.Pattern[str]

    @property
    def installed(self) -> bool:
        """Whether it is here."""
        return shutil.which(self.name) is not None or self.name == "vmtrace"


class Recording:
    """One that runs, in a namespace and on one processor."""

    def __init__(self, recorder: Recorder, settings: Settings, namespace: str, file: Path, processor: int) -> None:
        """Start it, and wait until it records."""
        self._recorder, self._log = recorder, file.with_suffix(".log")
        words = [*namespaces.exec_prefix(namespace), "taskset", "-c", str(processor)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*words, *recorder.command(settings, file)],
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )
        deadline_s = time.monotonic() + _STARTS_WITHIN_S
        while recorder.begun not in self._log.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.kill()
                raise RuntimeError(f"{recorder.name} did not start: {self._log.read_text().strip()}")
            time.sleep(0.01)
        time.sleep(0.1)  # some say so a little too early

    def stop(self) -> Outcome:
        """End it as a person would, and read what it says."""
        time.sleep(_SETTLE_S)
        self._process.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = 0
        text = self._log.read_text()
        written, dropped = self._recorder.written.search(text), self._recorder.dropped.search(text)
        if not written or not dropped:
            raise RuntimeError(f"{self._recorder.name} ended without its counts: {text.strip()}")
        number = [int(match[1].replace(",", "")) for match in (written, dropped)]
        return Outcome(number[0], number[1], usage.ru_utime + usage.ru_stime)

    def kill(self) -> None:
        """End it without asking, after a failure."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _tcpdump(settings: Settings, file: Path) -> list[str]:
    words = [
        "tcpdump",
        "-i",
        settings.interface,
        "-w",
        str(file),
        "-s",
        str(settings.snaplen),
        "-n",
        "-p",
        "-Z",
        "root",
    ]
    return [*words, "-B", str(settings.buffer_mib * 1024), "--time-stamp-precision=nano", settings.filter]


def _dumpcap(settings: Settings, file: Path) -> list[str]:
    words = ["dumpcap", "-i", settings.interface, "-w", str(file), "-s", str(settings.snaplen), "-P", "-p", "-q"]
    return [*words, "-B", str(settings.buffer_mib), "-f", settings.filter]


def _vmtrace(settings: Settings, file: Path) -> list[str]:
    words = [
        sys.executable,
        "-m",
        "vmtrace.capture",
        "--interface",
        settings.interface,
        "--write",
        str(file),
        "--overwrite",
    ]
    words += ["--buffer-bytes", f"{settings.buffer_mib}Mi", "--filter", settings.filter]
    # 0: what vmtrace keeps when nobody asks for a snap length.
    return [*words, "--snaplen", str(settings.snaplen)] if settings.snaplen else words


VMTRACE = Recorder(
    "vmtrace", _vmtrace, "recording ", re.compile(r": ([\d,]+) packets"), re.compile(r"dropped by kernel ([\d,]*\d)")
)
TCPDUMP = Recorder(
    "tcpdump",
    _tcpdump,
    "listening on",
    re.compile(r"(\d+) packets? captured"),
    re.compile(r"(\d+) packets? dropped by kernel"),
)
DUMPCAP = Recorder(
    "dumpcap",
    _dumpcap,
    "File: ",
    re.compile(r"Packets captured: (\d+)"),
    re.compile(r"Packets received/dropped on interface .*: \d+/(\d+)"),
)
RECORDERS = (VMTRACE, TCPDUMP, DUMPCAP)
