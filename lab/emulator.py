"""The path emulator: one process that carries packets between two TUN devices and logs what it did to each.

How it works: a single loop reads every waiting packet, asks `impairments` for its fate, puts survivors on a heap by the
instant they are due, and writes those that are due. `select` is the clock (microseconds; epoll of Python rounds to
milliseconds). The log is a buffered binary file of raw headers; nothing is decoded while the run lasts.

Why it can be trusted: for each packet it logs how long the packet can have waited unread, and how much later than due
it left; a run beyond the bounds is not called good. The wait is an upper bound while the loop is awake: a packet that
is there when it looks came after it last saw that side empty. How late the kernel wakes it shows in the lateness of
what was due meanwhile. The process asks for real-time priority, because it shares the cores with the hosts it joins.

SIGUSR1 freezes the sender's side: nothing is read from it or written to it until SIGUSR2, then all at once.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab.fate_log import HEADER_BYTES, LONGEST_WAIT_NS, RECORD
from vmtrace.lab.impairments import (
    BurstLoss,
    CoDel,
    Decision,
    DelayStep,
    DirectionState,
    Fate,
    Hold,
    Impairments,
    Spikes,
    TokenBucket,
    corrupted,
    marked,
)

LATENESS_P99_BOUND_S = 0.001
ENTRY_P99_BOUND_S = 0.001  # from the sender's capture to the emulator's read
LOOP_BOUND_S = 0.005
_BATCH = 32  # packets read from one side before due packets get their turn
_LONGEST_PACKET = 65536
_LONGEST_SLEEP_S = 0.05
_SLEPT_NS = 20_000  # a `select` that took longer has slept: nothing was waiting when it began
_LONG_TURNS_KEPT = 10_000
_SENDER_SIDE = 0
_TO_SENDER = 1  # the direction whose packets leave on the sender's side
_DRAIN_NS = 1_500_000_000
_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29


# due, serial, direction, packet to write, fate, instant of entry, its wait before, number, packet as it entered
_Entry = tuple[int, int, int, bytes, int, int, int, int, bytes]


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
    long_turns: list[tuple[int, int]] = field(default_factory=list)  # those beyond the bound: begin, length
    refused_writes: int = 0

    def turned(self, began_ns: int, turn_ns: int) -> None:
        """Note how long one turn of the loop took."""
        if turn_ns > self.longest_turn_ns:
            self.longest_turn_ns, self.longest_turn_at_ns = turn_ns, began_ns
        if turn_ns > LOOP_BOUND_S * 1e9 and len(self.long_turns) < _LONG_TURNS_KEPT:
            self.long_turns.append((began_ns, turn_ns))


class Emulator:
    """Carries packets between two descriptors until told to stop. Descriptor 0 is the sender's side."""

    def __init__(self, descriptors: tuple[int, int], settings: EmulatorSettings, log_path: Path) -> None:
        self._descriptors = descriptors
        self._states = (
            DirectionState(settings.forward, f"{settings.seed}/forward"),
            DirectionState(settings.reverse, f"{settings.seed}/reverse"),
        )
        self._log = log_path.open("wb", buffering=1 << 20)
        self._heap: list[_Entry] = []
        self._serial = 0
        self._started = False
        self._stopping = False
        self._freeze_wanted = self._frozen = False
        self._held: list[_Entry] = []  # due while frozen
        self._timing = _Timing()
        self._empty_ns = [time.monotonic_ns()] * 2  # when each side was last known to have nothing to read
        self._woken, self._waker = os.pipe()  # a signal ends the sleep of `select`
        for end in (self._woken, self._waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)

    def stop(self) -> None:
        """End the loop once the packets on their way have left."""
        self._stopping = True
        self._freeze_wanted = False

    def freeze(self, wanted: bool) -> None:
        """From the next turn on leave the sender's side alone, or serve it again."""
        self._freeze_wanted = wanted

    def run(self) -> dict[str, Any]:
        """Carry packets until `stop`; returns the clock offset and what the loop measured of itself."""
        offset_ns = time.time_ns() - time.monotonic_ns()
        drain_ends_ns = 0
        while True:
            ready, woke_ns = self._wait()
            if self._freeze_wanted != self._frozen:
                self._freeze_or_thaw()
            for descriptor in ready:
                if descriptor in self._descriptors and not (self._frozen and descriptor == self._descriptors[0]):
                    self._take_in(self._descriptors.index(descriptor))
            self._let_out()
            self._timing.turned(woke_ns, time.monotonic_ns() - woke_ns)
            if self._stopping:
                drain_ends_ns = drain_ends_ns or woke_ns + _DRAIN_NS
                if not self._heap or woke_ns > drain_ends_ns:
                    break
        self._finish()
        return {
            "unix_offset_ns": offset_ns,
            "clock_step_ns": time.time_ns() - time.monotonic_ns() - offset_ns,
            "longest_turn_ns": self._timing.longest_turn_ns,
            "longest_turn_at_ns": self._timing.longest_turn_at_ns + offset_ns,
            "long_turns": [(began_ns + offset_ns, turn_ns) for began_ns, turn_ns in self._timing.long_turns],
            "refused_writes": self._timing.refused_writes,
        }

    def _wait(self) -> tuple[list[int], int]:
        timeout_s = _LONGEST_SLEEP_S
        before_ns = time.monotonic_ns()
        if self._heap:
            timeout_s = min(timeout_s, max(0.0, (self._heap[0][0] - before_ns) / 1e9))
        watched = self._descriptors[1:] if self._frozen else self._descriptors
        ready, _, _ = select.select((*watched, self._woken), (), (), timeout_s)
        woke_ns = time.monotonic_ns()
        if woke_ns - before_ns > _SLEPT_NS:
            self._empty_ns = [woke_ns, woke_ns]
        if self._woken in ready:
            os.read(self._woken, 4096)
        return ready, woke_ns

    def _freeze_or_thaw(self) -> None:
        self._frozen = self._freeze_wanted
        now_ns = time.monotonic_ns()
        if not self._frozen:
            # What waited was held on purpose: its time counts from now on.
            self._empty_ns[_SENDER_SIDE] = now_ns
            for entry in self._held:
                heapq.heappush(self._heap, (now_ns, *entry[1:]))
            self._held.clear()

    def _take_in(self, direction: int) -> None:
        descriptor, state = self._descriptors[direction], self._states[direction]
        read, clock, admit = os.read, time.monotonic_ns, state.admit
        empty_ns = self._empty_ns[direction]
        for _ in range(_BATCH):
            try:
                packet = read(descriptor, _LONGEST_PACKET)
            except BlockingIOError:
                self._empty_ns[direction] = clock()
                return
            now_ns = clock()
            if not self._started:
                self._start(now_ns)
            number = state.entered
            decision = admit(now_ns, len(packet))
            waited_ns = min(now_ns - empty_ns, LONGEST_WAIT_NS)
            if decision.due_ns == 0:
                self._record(now_ns, 0, 0, waited_ns, number, direction, decision.fate, packet)
            else:
                self._schedule(decision, now_ns, waited_ns, number, direction, packet)

    def _start(self, now_ns: int) -> None:
        self._started = True
        for state in self._states:
            state.start_ns = now_ns

    def _schedule(
        self, decision: Decision, now_ns: int, waited_ns: int, number: int, direction: int, packet: bytes
    ) -> None:
        out = corrupted(packet, decision.dice) if decision.fate is Fate.CORRUPTED else packet
        if decision.marked:
            out = marked(out)
        leaving = [(decision.fate, decision.due_ns)]
        if decision.copy_due_ns:
            leaving.append((Fate.DUPLICATE, decision.copy_due_ns))
        for fate, due_ns in leaving:
            entry = (due_ns, self._serial, direction, out, int(fate), now_ns, waited_ns, number, packet)
            heapq.heappush(self._heap, entry)
            self._serial += 1

    def _let_out(self) -> None:
        heap, clock, write = self._heap, time.monotonic_ns, os.write
        turn_ends_ns = clock() + 1_000_000
        now_ns = clock()
        while heap and heap[0][0] <= now_ns < turn_ends_ns:
            entry = heapq.heappop(heap)
            due_ns, _, direction, out, fate, in_ns, waited_ns, number, packet = entry
            if self._frozen and direction == _TO_SENDER:
                self._held.append(entry)
                continue
            try:
                write(self._descriptors[1 - direction], out)
            except OSError:
                self._timing.refused_writes += 1
            self._record(in_ns, due_ns, now_ns, waited_ns, number, direction, fate, packet)
            now_ns = clock()

    def _record(
        self,
        in_ns: int,
        due_ns: int,
        out_ns: int,
        waited_ns: int,
        number: int,
        direction: int,
        fate: int,
        packet: bytes,
    ) -> None:
        headers = packet[:HEADER_BYTES]
        self._log.write(RECORD.pack(in_ns, due_ns, out_ns, waited_ns, number, direction, fate, len(packet), headers))

    def _finish(self) -> None:
        for due_ns, _, direction, _, fate, in_ns, waited_ns, number, packet in self._heap:
            if fate != Fate.DUPLICATE:
                self._record(in_ns, due_ns, 0, waited_ns, number, direction, Fate.UNDELIVERED, packet)
        self._log.close()
        signal.set_wakeup_fd(-1)
        for end in (self._woken, self._waker):
            os.close(end)


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
    if values.get("codel"):
        values["codel"] = CoDel(**values["codel"])
    if values.get("spikes"):
        values["spikes"] = Spikes(**values["spikes"])
    values["delay_steps"] = tuple(DelayStep(**step) for step in values.get("delay_steps", ()))
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
    """`python -m vmtrace.lab.emulator`: run on two inherited descriptors until SIGTERM, then write the report."""
    parser = argparse.ArgumentParser(prog="vmtrace.lab.emulator", description=main.__doc__)
    parser.add_argument("--descriptors", nargs=2, type=int, required=True, metavar=("SENDER", "RECEIVER"))
    parser.add_argument("--settings", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    options = parser.parse_args(arguments)
    settings = settings_from_json(json.loads(options.settings.read_text()))
    emulator = Emulator((options.descriptors[0], options.descriptors[1]), settings, options.log)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: emulator.stop())
    signal.signal(signal.SIGUSR1, lambda *_: emulator.freeze(True))
    signal.signal(signal.SIGUSR2, lambda *_: emulator.freeze(False))
    gc.disable()
    real_time = prefer_this_process()
    print("ready", flush=True)
    try:
        report = emulator.run()
    except OSError as error:  # a full disk, most likely
        print(f"the path emulator cannot go on: {options.log}: {error.strerror}", file=sys.stderr)
        return 1
    options.report.write_text(json.dumps({**report, "real_time_priority": real_time}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
