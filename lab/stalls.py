"""Stalls of the sending host: when and how long from a seed, carried out for real, and a log of when they really were.

Two kinds, named in the log:
* `guest_kernel_stop`: the process that is the guest's kernel gets SIGSTOP: nothing of that host runs, as when a
  hypervisor takes the virtual processor away.
* `frozen_host`: where there is no guest kernel. The host's programs get SIGSTOP, and the path's end at the host stands
  still in both directions. The host's own kernel goes on: a timer that expires meanwhile (a tail probe, a timeout)
  stamps its packet inside the gap, which no stopped kernel would do.
"""

from __future__ import annotations

import csv
import os
import random
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

GUEST_KERNEL_STOP = "guest_kernel_stop"
FROZEN_HOST = "frozen_host"
FIELDS = ("start_ns", "duration_s", "kind")


@dataclass(frozen=True, slots=True)
class Stalls:
    """How a host alternates between running and standing still: both for times spread evenly between two bounds."""

    shortest_run_s: float
    longest_run_s: float
    shortest_s: float
    longest_s: float

    @property
    def share(self) -> float:
        """Share of the time that the host stands still."""
        stall_s, run_s = self.shortest_s + self.longest_s, self.shortest_run_s + self.longest_run_s
        return stall_s / (stall_s + run_s)

    def times_s(self, seed: int) -> Iterator[tuple[float, float]]:
        """For ever: how long it runs, and how long it then stands still."""
        dice = random.Random(f"{seed}/stalls")
        while True:
            run_s = dice.uniform(self.shortest_run_s, self.longest_run_s)
            yield run_s, dice.uniform(self.shortest_s, self.longest_s)


@dataclass(frozen=True, slots=True)
class Stall:
    """One stall as it was: from just before the host was stopped until it was let go."""

    start_ns: int
    duration_s: float
    kind: str


class Host(Protocol):
    """Something that can be stopped and let go."""

    kind: str

    def stop(self) -> None:
        """Stand still from now on."""

    def go(self) -> None:
        """Run again."""


class GuestKernelHost:
    """A guest kernel, by the process that it is. Its traced children must not be stopped: that crashes it."""

    kind = GUEST_KERNEL_STOP

    def __init__(self, process_id: int) -> None:
        self._process_id = process_id

    def stop(self) -> None:
        """Take the virtual processor away."""
        os.kill(self._process_id, signal.SIGSTOP)

    def go(self) -> None:
        """Give it back."""
        os.kill(self._process_id, signal.SIGCONT)


class FrozenHost:
    """The programs of a host (one process group), and the path's end at that host."""

    kind = FROZEN_HOST

    def __init__(self, process_group: int, emulator: int) -> None:
        self._process_group = process_group
        self._emulator = emulator

    def stop(self) -> None:
        """Freeze path end and programs."""
        os.kill(self._emulator, signal.SIGUSR1)
        os.killpg(self._process_group, signal.SIGSTOP)

    def go(self) -> None:
        """Let both go."""
        os.kill(self._emulator, signal.SIGUSR2)
        os.killpg(self._process_group, signal.SIGCONT)


class Stalling:
    """Stalls a host from `start` to `finish`, each written to the log when it is over."""

    def __init__(self, stalls: Stalls, seed: int, host: Host, log: Path) -> None:
        self._times_s = stalls.times_s(seed)
        self._host = host
        self._log = log
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.count = 0
        self.total_s = 0.0

    def start(self) -> None:
        """Begin with a time of running."""
        with self._log.open("w", newline="") as file:
            csv.writer(file).writerow(FIELDS)
        self._thread.start()

    def finish(self) -> None:
        """No further stall; a host that stands still runs again."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        for run_s, stall_s in self._times_s:
            if self._over.wait(run_s):
                return
            try:
                self._stall(stall_s)
            except ProcessLookupError:  # the host is gone: the run is over, or somebody else will say why
                return

    def _stall(self, stall_s: float) -> None:
        start_ns, start_s = time.time_ns(), time.monotonic()
        try:
            self._host.stop()
            self._over.wait(stall_s)
        finally:
            self._host.go()
        done = Stall(start_ns, time.monotonic() - start_s, self._host.kind)
        self.count += 1
        self.total_s += done.duration_s
        with self._log.open("a", newline="") as file:
            csv.writer(file).writerow((done.start_ns, f"{done.duration_s:.6f}", done.kind))


def write_log(path: Path, stalls: Iterable[Stall]) -> None:
    """A log of these stalls."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows((each.start_ns, f"{each.duration_s:.6f}", each.kind) for each in stalls)


def read(path: Path) -> list[Stall]:
    """The stalls that a log tells of."""
    with path.open(newline="") as file:
        return [Stall(int(row["start_ns"]), float(row["duration_s"]), row["kind"]) for row in csv.DictReader(file)]
