"""Stalls come from a seed, are carried out on a host, and are logged as they were."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.eventually import eventually
from vmtrace.lab.stalls import FROZEN_HOST, FrozenHost, GuestKernelHost, Stall, Stalling, Stalls, read, write_log

OFTEN = Stalls(shortest_run_s=0.02, longest_run_s=0.04, shortest_s=0.03, longest_s=0.06)


class PaperHost:
    kind = "paper"

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def stop(self) -> None:
        self.calls.append(("stop", time.time_ns()))

    def go(self) -> None:
        self.calls.append(("go", time.time_ns()))


class GoneHost(PaperHost):
    def stop(self) -> None:
        super().stop()
        raise ProcessLookupError


def state_of(process_id: int) -> str:
    return Path(f"/proc/{process_id}/stat").read_text().rpartition(") ")[2][0]


def wait_for_state(process_id: int, state: str) -> None:
    assert eventually(lambda: state_of(process_id) == state)


def test_same_seed_same_times_within_their_bounds() -> None:
    first, second, other = (list(itertools.islice(OFTEN.times_s(seed), 50)) for seed in (1, 1, 2))
    assert first == second
    assert first != other
    assert all(0.02 <= run_s <= 0.04 and 0.03 <= stall_s <= 0.06 for run_s, stall_s in first)


def test_share_of_stalling() -> None:
    assert Stalls(0.1, 0.3, 0.2, 0.4).share == pytest.approx(0.6)


def test_log_tells_when_the_host_stalled(tmp_path: Path) -> None:
    host = PaperHost()
    stalling = Stalling(OFTEN, 1, host, tmp_path / "stalls.csv")
    stalling.start()
    time.sleep(0.3)
    stalling.finish()
    logged = read(tmp_path / "stalls.csv")
    stops = [at_ns for word, at_ns in host.calls if word == "stop"]
    goes = [at_ns for word, at_ns in host.calls if word == "go"]
    assert len(logged) == stalling.count == len(stops) == len(goes) >= 2
    for stall, stop_ns, go_ns in zip(logged, stops, goes, strict=True):
        assert stall.kind == "paper"
        assert 0 <= stop_ns - stall.start_ns < 10_000_000
        assert abs(stall.start_ns + stall.duration_s * 1e9 - go_ns) < 10_000_000


def test_a_log_that_is_written_at_once_is_read_as_any_other(tmp_path: Path) -> None:
    stalls = [Stall(5, 0.25, FROZEN_HOST), Stall(9_000_000_000, 1.5, FROZEN_HOST)]
    write_log(tmp_path / "stalls.csv", stalls)
    assert read(tmp_path / "stalls.csv") == stalls


def test_finishing_lets_a_standing_host_go_at_once(tmp_path: Path) -> None:
    host = PaperHost()
    stalling = Stalling(Stalls(0, 0, 60, 60), 1, host, tmp_path / "stalls.csv")
    stalling.start()
    assert eventually(lambda: bool(host.calls))
    stalling.finish()
    assert [word for word, _ in host.calls] == ["stop", "go"]
    assert len(read(tmp_path / "stalls.csv")) == 1


def test_a_host_that_is_gone_ends_the_stalls(tmp_path: Path) -> None:
    host = GoneHost()
    stalling = Stalling(Stalls(0, 0, 0.01, 0.01), 1, host, tmp_path / "stalls.csv")
    stalling.start()
    stalling.finish()
    assert [word for word, _ in host.calls] in ([], ["stop", "go"])  # what half stood still was let go
    assert read(tmp_path / "stalls.csv") == []


def test_a_guest_kernel_is_stopped_by_its_process() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        host = GuestKernelHost(process.pid)
        host.stop()
        wait_for_state(process.pid, "T")
        host.go()
        wait_for_state(process.pid, "S")
    finally:
        process.kill()
        process.wait()


def test_a_frozen_host_has_its_programs_stopped_and_its_end_of_the_path_frozen() -> None:
    program = "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: print('frozen', flush=True));"
    program += "signal.signal(signal.SIGUSR2, lambda *_: print('thawed', flush=True)); print('up', flush=True)\n"
    program += "while True: time.sleep(1)"
    programs = subprocess.Popen(["sleep", "60"], start_new_session=True)
    emulator = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert emulator.stdout
        assert emulator.stdout.readline() == "up\n"
        host = FrozenHost(os.getpgid(programs.pid), emulator.pid)
        host.stop()
        assert emulator.stdout.readline() == "frozen\n"
        wait_for_state(programs.pid, "T")
        host.go()
        assert emulator.stdout.readline() == "thawed\n"
        wait_for_state(programs.pid, "S")
        assert host.kind == FROZEN_HOST
    finally:
        for process in (programs, emulator):
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert emulator.stdout is not None
        emulator.stdout.close()
