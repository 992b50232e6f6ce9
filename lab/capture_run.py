"""Captures around a transfer: tcpdump in a host's namespace, started for certain, stopped whole, its drops known."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from vmtrace.lab import namespaces

DEFAULT_SNAPLEN_BYTES = 128
WHOLE_PACKETS_BYTES = 262_144
_BUFFER_KIB = 65_536
_COUNTS = re.compile(
    r"(\d+) packets? captured.*?(\d+) packets? received by filter.*?(\d+) packets? dropped by kernel", re.DOTALL
)
_INTERFACE_DROPS = re.compile(r"(\d+) packets? dropped by interface")


@dataclass(frozen=True, slots=True)
class CaptureHealth:
    """What tcpdump said of itself at the end."""

    captured: int
    received: int
    dropped_by_kernel: int
    dropped_by_interface: int

    @property
    def whole(self) -> bool:
        """Nothing that passed the filter is missing from the file."""
        return self.captured == self.received and self.dropped_by_kernel == self.dropped_by_interface == 0

    def as_json(self) -> dict[str, int]:
        """Plain numbers for a truth file."""
        return asdict(self)


class Capture:
    """One tcpdump, already listening; `stop` waits until it has written every packet it was given."""

    def __init__(self, namespace: str, device: str, path: Path, snaplen_bytes: int, extra: Sequence[str] = ()) -> None:
        command = ["tcpdump", "-i", device, "-w", str(path), "-s", str(snaplen_bytes), "-B", str(_BUFFER_KIB)]
        command += ["-n", "-p", "-Z", "root", "--time-stamp-precision=nano", *extra, "tcp"]
        self._messages = path.with_name(path.name + ".log")
        with self._messages.open("wb") as log:
            self._process = subprocess.Popen([*namespaces.exec_prefix(namespace), *command], stderr=log)
        self._wait_for("listening on", 10.0)

    def stop(self) -> CaptureHealth:
        """End the capture and read its counts."""
        seen = -1
        deadline_s = time.monotonic() + 5.0
        while time.monotonic() < deadline_s:
            captured, received = self._counts_now()
            if captured == received == seen:
                break
            seen = received
            time.sleep(0.06)
        self._process.send_signal(signal.SIGINT)
        self._process.wait(10)
        text = self._messages.read_text()
        counts = _COUNTS.findall(text)
        if not counts:
            raise RuntimeError(f"tcpdump ended without its counts: {text.strip()}")
        captured, received, dropped = map(int, counts[-1])
        interface = _INTERFACE_DROPS.findall(text)
        return CaptureHealth(captured, received, dropped, int(interface[-1]) if interface else 0)

    def kill(self) -> None:
        """End the capture without asking, after a failure."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _counts_now(self) -> tuple[int, int]:
        before = len(_COUNTS.findall(self._messages.read_text()))
        self._process.send_signal(signal.SIGUSR1)
        deadline_s = time.monotonic() + 2.0
        while time.monotonic() < deadline_s:
            counts = _COUNTS.findall(self._messages.read_text())
            if len(counts) > before:
                return int(counts[-1][0]), int(counts[-1][1])
            time.sleep(0.01)
        raise RuntimeError("tcpdump does not answer with its counts")

    def _wait_for(self, words: str, seconds: float) -> None:
        deadline_s = time.monotonic() + seconds
        while words not in self._messages.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.kill()
                raise RuntimeError(f"tcpdump did not start: {self._messages.read_text().strip()}")
            time.sleep(0.01)


@contextmanager
def capturing(wanted: dict[str, tuple[str, str, Path]], snaplen_bytes: int) -> Iterator[dict[str, Capture]]:
    """Captures by name, each of (namespace, device, file); whatever still runs afterwards is ended."""
    running: dict[str, Capture] = {}
    try:
        for name, (namespace, device, path) in wanted.items():
            running[name] = Capture(namespace, device, path, snaplen_bytes)
        yield running
    finally:
        for capture in running.values():
            capture.kill()
