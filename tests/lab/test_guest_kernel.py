"""A guest kernel runs a program behind a TAP device, can be stopped and signalled, and leaves nothing behind."""

from __future__ import annotations

import io
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.busy_machine import where_it_ran
from tests.lab.packets import own_namespaces
from vmtrace.lab import namespaces
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.guest import kernel
from vmtrace.lab.guest.kernel import GuestError, GuestKernel, GuestSettings
from vmtrace.lab.hosts import EmulatedPath, HostSettings, Topology, joined_hosts
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.stalls import GuestKernelHost, Stalling, Stalls, read

HOSTS = {"sender": HostSettings(), "receiver": HostSettings()}
PATH = EmulatorSettings(Impairments(delay_s=0.005), Impairments(delay_s=0.005), 1)


@pytest.fixture(scope="module")
def user_mode_linux() -> None:
    if kernel.find() is None:
        pytest.skip("no user-mode-linux (Debian: user-mode-linux)")


@contextmanager
def guest(folder: Path, output: io.BytesIO, *program: str) -> Iterator[tuple[GuestKernel, EmulatedPath]]:
    settings = GuestSettings(
        address="198.18.1.1",
        router="198.18.1.254",
        prefix_length=24,
        mtu=1500,
        sysctls=HOSTS["sender"].as_sysctls(),
        segmentation_offload=True,
        receive_offload=True,
        writable=(folder,),
        program=program,
        environment={**os.environ, "WORD": "from outside"},
        terminal_size=None,
    )
    with (
        joined_hosts(Topology.GUEST, 4, 1500, HOSTS, PATH, folder) as path,
        kernel.running(settings, path.hosts["sender"].namespace, output, folder / "guest.log") as running,
    ):
        yield running, path


def programs_of(folder: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts", "user_mode_linux")
def test_its_program_has_kernel_clock_files_and_environment_and_its_status_comes_back(tmp_path: Path) -> None:
    said = io.BytesIO()
    script = f"uname -r; echo $WORD; date +%s.%N; echo written > {tmp_path}/here; touch /etc/there; exit 7"
    with guest(tmp_path, said, "sh", "-c", script) as (running, _):
        assert abs(running.clock_offset_s) < 0.05
        host_s = time.time()
        assert running.wait() == 7
        release = running.release
    lines = said.getvalue().decode().splitlines()
    assert lines[:2] == [release, "from outside"]
    assert release != os.uname().release
    assert abs(float(lines[2]) - host_s) < 2.0
    assert "Read-only" in lines[3]
    assert (tmp_path / "here").read_text() == "written\n"
    assert own_namespaces(os.getpid()) == []


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts", "user_mode_linux")
def test_stalls_stop_all_of_the_guest_and_its_clock_goes_on(tmp_path: Path) -> None:
    turns = itertools.count()
    where_it_ran(lambda: stop_and_go_on(tmp_path / str(next(turns))))


def stop_and_go_on(folder: Path) -> None:
    folder.mkdir()
    # A packet every millisecond, stamped by the guest: where the guest stood still there is a gap in its own stamps.
    program = (
        "import socket, time\n"
        "far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "end = time.time() + 1.5\n"
        "while time.time() < end:\n"
        "    far.sendto(str(time.time_ns()).encode(), ('198.18.2.1', 4000)); time.sleep(0.001)\n"
        "print('ready to end', flush=True)\n"
    )
    said = io.BytesIO()
    with guest(folder, said, sys.executable, "-c", program) as (running, path):
        stamps: list[tuple[int, int]] = []
        with receiving(path) as collect:
            host = GuestKernelHost(running.process_id)
            stalling = Stalling(Stalls(0.2, 0.3, 0.1, 0.2), 3, host, folder / "stalls.csv")
            stalling.start()
            assert running.wait(20) == 0
            stalling.finish()
            stamps = collect()
    # Those that began while the guest was sending: how long it takes to begin depends on the machine.
    first_ns, last_ns = stamps[0][0] + 50_000_000, stamps[-1][0] - 300_000_000
    stalls = [each for each in read(folder / "stalls.csv") if first_ns < each.start_ns < last_ns]
    assert stalls
    for stall in stalls:
        inside = [
            stamp for stamp, _ in stamps
            if stall.start_ns + 5_000_000 < stamp < stall.start_ns + stall.duration_s * 1e9 - 5_000_000
        ]  # fmt: skip
        assert inside == []
        gaps = [(after - before, before) for (before, _), (after, _) in itertools.pairwise(stamps)]
        gap_ns, begin_ns = min(gaps, key=lambda gap: abs(gap[1] - stall.start_ns))
        assert abs(begin_ns - stall.start_ns) < 60_000_000
        assert abs(gap_ns / 1e9 - stall.duration_s) < 0.06
    # Time did not stop in the guest: after all stalls its stamps agree with when they arrived here.
    assert all(arrived_ns - stamp < 500_000_000 for stamp, arrived_ns in stamps)
    assert min(arrived_ns - stamp for stamp, arrived_ns in stamps[-100:]) < 100_000_000


@contextmanager
def receiving(path: EmulatedPath) -> Iterator[Callable[[], list[tuple[int, int]]]]:
    """Collects the datagrams that reach the receiver: the sender's stamp and ours."""
    with namespaces.inside(path.hosts["receiver"].namespace):
        near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    near.bind(("198.18.2.1", 4000))
    near.settimeout(0.5)
    found: list[tuple[int, int]] = []
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            try:
                found.append((int(near.recv(100)), time.time_ns()))
            except TimeoutError:
                continue

    thread = threading.Thread(target=listen)
    thread.start()

    def collect() -> list[tuple[int, int]]:
        over.set()
        thread.join()
        return found

    try:
        yield collect
    finally:
        over.set()
        thread.join()
        near.close()


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts", "user_mode_linux")
def test_a_signal_reaches_its_program(tmp_path: Path) -> None:
    with guest(tmp_path, io.BytesIO(), "sleep", "60") as (running, _):
        assert running.wait(0.3) is None
        running.send_signal(signal.SIGINT)
        assert running.wait(10) == -signal.SIGINT


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts", "user_mode_linux")
def test_a_program_that_does_not_exist_is_reported_in_one_line(tmp_path: Path) -> None:
    with (
        pytest.raises(GuestError, match="no-such-program"),
        guest(tmp_path, io.BytesIO(), "no-such-program") as (running, _),
    ):
        running.wait()


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts", "user_mode_linux")
def test_nothing_of_a_guest_outlives_a_killed_parent(tmp_path: Path) -> None:
    program = (
        "import io, sys, time; from pathlib import Path; from tests.lab.test_guest_kernel import guest\n"
        f"with guest(Path({str(tmp_path)!r}), io.BytesIO(), 'sleep', '60') as (running, _):\n"
        "    print(running.process_id, flush=True); time.sleep(60)\n"
    )
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=env, text=True)
    assert process.stdout
    number = int(process.stdout.readline())
    os.kill(number, signal.SIGSTOP)  # a stopped kernel must die as well
    process.kill()
    process.wait()
    process.stdout.close()
    deadline_s = time.monotonic() + 5
    while Path(f"/proc/{number}").exists() and not zombie(number) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not Path(f"/proc/{number}").exists() or zombie(number)
    assert [line for line in programs_of(tmp_path) if "linux" in line.split()[0]] == []
    namespaces.delete_stale()


def zombie(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except FileNotFoundError:
        return True


def test_without_the_program_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert kernel.find() is None
    settings = GuestSettings("a", "b", 24, 1500, {}, True, True, (), ("true",), {}, None)
    with (
        pytest.raises(GuestError, match="Debian: user-mode-linux"),
        kernel.running(settings, "none", io.BytesIO(), tmp_path / "log"),
    ):
        pass


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts", "user_mode_linux")
@pytest.mark.parametrize("how", ["panics", "is killed"])
def test_a_guest_kernel_that_is_gone_is_reported_in_one_line(tmp_path: Path, how: str) -> None:
    program = "sleep 0.5; echo c > /proc/sysrq-trigger; sleep 60" if how == "panics" else "sleep 60"
    with guest(tmp_path, io.BytesIO(), "sh", "-c", program) as (running, _):
        if how == "is killed":
            os.kill(running.process_id, signal.SIGKILL)
        with pytest.raises(GuestError, match="the guest kernel ended" + (": Kernel panic" if how == "panics" else "")):
            running.wait()


def test_a_guests_folder_must_be_named_from_the_root() -> None:
    with pytest.raises(ValueError, match="relative: name the guest's folder from the root"):
        GuestSettings("a", "b", 24, 1500, {}, True, True, (Path("relative"),), ("true",), {}, None)
