"""The path emulator: one process that carries packets between two TUN devices and logs what it did to each.

How it works: a single loop reads every waiting packet, asks `impairments` for its fate, puts survivors on a heap by the
instant they are due, and writes those that are due. `select` is the clock (microseconds; epoll of Python rounds to
milliseconds). The log is a buffered binary file of raw headers; nothing is decoded while the run lasts.

Why it can be trusted: lateness (written minus due) and the longest turn of the loop are measured, and a run beyond the
bounds is not called good. The process asks for real-time priority, because it shares the cores with the hosts it joins.
Any other program with the same command line and the same two files can stand in for it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import heapq
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.fate_log import HEADER_BYTES, RECORD
from lab.impairments import BurstLoss, Decision, DirectionState, Fate, Hold, Impairments, TokenBucket, corrupted

LATENESS_P99_BOUND_S = 0.001
ENTRY_P99_BOUND_S = 0.001  # from the sender's capture to the emulator's read
LOOP_BOUND_S = 0.005
_BATCH = 32  # packets read from one side before due packets get their turn
_LONGEST_PACKET = 65536
_DRAIN_NS = 1_500_000_000
_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29


@dataclass(frozen=True, slots=True)
class EmulatorSettings:
    """Both directions of a path and the seed of its dice."""

    forward: Impairments
    reverse: Impairments
    seed: int


@dataclass(slots=True)
class _Timing:
    longest_turn_ns: int = 0
    longest_turn_at_ns: int = 0
    refused_writes: int = 0


class Emulator:
    """Carries packets between two descriptors until told to stop. Descriptor 0 is the sender's side."""

    def __init__(self, descriptors: tuple[int, int], settings: EmulatorSettings, log_path: Path) -> None:
        self._descriptors = descriptors
        self._states = (
            DirectionState(settings.forward, f"{settings.seed}/forward"),
            DirectionState(settings.reverse, f"{settings.seed}/reverse"),
        )
        self._log = log_path.open("wb", buffering=1 << 20)
        # due, serial, direction, packet to write, fate, instant of entry, number, packet as it entered
        self._heap: list[tuple[int, int, int, bytes, int, int, int, bytes]] = []
        self._serial = 0
        self._started = False
        self._stopping = False
        self._timing = _Timing()

    def stop(self) -> None:
        """End the loop once the packets on their way have left."""
        self._stopping = True

    def run(self) -> dict[str, int]:
        """Carry packets until `stop`; returns the clock offset and what the loop measured of itself."""
        offset_ns = time.time_ns() - time.monotonic_ns()
        drain_ends_ns = 0
        while True:
            ready, woke_ns = self._wait()
            for descriptor in ready:
                self._take_in(self._descriptors.index(descriptor))
            self._let_out()
            turn_ns = time.monotonic_ns() - woke_ns
            if turn_ns > self._timing.longest_turn_ns:
                self._timing.longest_turn_ns, self._timing.longest_turn_at_ns = turn_ns, woke_ns + offset_ns
            if self._stopping:
                drain_ends_ns = drain_ends_ns or woke_ns + _DRAIN_NS
                if not self._heap or woke_ns > drain_ends_ns:
                    break
        self._finish()
        return {
            "unix_offset_ns": offset_ns,
            "clock_step_ns": time.time_ns() - time.monotonic_ns() - offset_ns,
            "longest_turn_ns": self._timing.longest_turn_ns,
            "longest_turn_at_ns": self._timing.longest_turn_at_ns,
            "refused_writes": self._timing.refused_writes,
        }

    def _wait(self) -> tuple[list[int], int]:
        timeout_s = 0.05
        if self._heap:
            timeout_s = min(timeout_s, max(0.0, (self._heap[0][0] - time.monotonic_ns()) / 1e9))
        ready, _, _ = select.select(self._descriptors, (), (), timeout_s)
        return ready, time.monotonic_ns()

    def _take_in(self, direction: int) -> None:
        descriptor, state = self._descriptors[direction], self._states[direction]
        read, clock, admit = os.read, time.monotonic_ns, state.admit
        for _ in range(_BATCH):
            try:
                packet = read(descriptor, _LONGEST_PACKET)
            except BlockingIOError:
                return
            now_ns = clock()
            if not self._started:
                self._start(now_ns)
            number = state.entered
            decision = admit(now_ns, len(packet))
            if decision.due_ns == 0:
                self._record(now_ns, 0, 0, number, direction, decision.fate, packet)
            else:
                self._schedule(decision, now_ns, number, direction, packet)

    def _start(self, now_ns: int) -> None:
        self._started = True
        for state in self._states:
            state.start_ns = now_ns

    def _schedule(self, decision: Decision, now_ns: int, number: int, direction: int, packet: bytes) -> None:
        out = corrupted(packet, decision.dice) if decision.fate is Fate.CORRUPTED else packet
        entry = (decision.due_ns, self._serial, direction, out, int(decision.fate), now_ns, number, packet)
        heapq.heappush(self._heap, entry)
        self._serial += 1
        if decision.duplicated:
            copy = (decision.due_ns, self._serial, direction, out, int(Fate.DUPLICATE), now_ns, number, packet)
            heapq.heappush(self._heap, copy)
            self._serial += 1

    def _let_out(self) -> None:
        heap, clock, write = self._heap, time.monotonic_ns, os.write
        turn_ends_ns = clock() + 1_000_000
        now_ns = clock()
        while heap and heap[0][0] <= now_ns < turn_ends_ns:
            due_ns, _, direction, out, fate, in_ns, number, packet = heapq.heappop(heap)
            try:
                write(self._descriptors[1 - direction], out)
            except OSError:
                self._timing.refused_writes += 1
            self._record(in_ns, due_ns, now_ns, number, direction, fate, packet)
            now_ns = clock()

    def _record(
        self, in_ns: int, due_ns: int, out_ns: int, number: int, direction: int, fate: int, packet: bytes
    ) -> None:
        headers = packet[:HEADER_BYTES]
        self._log.write(RECORD.pack(in_ns, due_ns, out_ns, number, direction, fate, len(packet), headers))

    def _finish(self) -> None:
        for due_ns, _, direction, _, _, in_ns, number, packet in self._heap:
            self._record(in_ns, due_ns, 0, number, direction, Fate.UNDELIVERED, packet)
        self._log.close()


def settings_from_json(document: Mapping[str, Any]) -> EmulatorSettings:
    """Settings from the file the emulator is started with (`dataclasses.asdict` of `EmulatorSettings`)."""
    return EmulatorSettings(
        impairments_from_json(document["forward"]), impairments_from_json(document["reverse"]), int(document["seed"])
    )


def impairments_from_json(document: Mapping[str, Any]) -> Impairments:
    """One direction from its JSON form."""
    values = dict(document)
    if values.get("burst_loss"):
        values["burst_loss"] = BurstLoss(**values["burst_loss"])
    if values.get("token_bucket"):
        values["token_bucket"] = TokenBucket(**values["token_bucket"])
    values["holds"] = tuple(Hold(**hold) for hold in values.get("holds", ()))
    values["drop_packets"] = tuple(values.get("drop_packets", ()))
    return Impairments(**values)


def prefer_this_process() -> bool:
    """Ask for real-time priority and exact timers; True when the kernel granted the priority."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)  # the devices must not outlive who made them
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        return False
    return True


def main(arguments: list[str] | None = None) -> int:
    """`python -m lab.emulator`: run on two inherited descriptors until SIGTERM, then write the report."""
    parser = argparse.ArgumentParser(prog="lab.emulator", description=main.__doc__)
    parser.add_argument("--descriptors", nargs=2, type=int, required=True, metavar=("SENDER", "RECEIVER"))
    parser.add_argument("--settings", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    options = parser.parse_args(arguments)
    settings = settings_from_json(json.loads(options.settings.read_text()))
    emulator = Emulator((options.descriptors[0], options.descriptors[1]), settings, options.log)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: emulator.stop())
    gc.disable()
    real_time = prefer_this_process()
    print("ready", flush=True)
    report = emulator.run()
    options.report.write_text(json.dumps({**report, "real_time_priority": real_time}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
