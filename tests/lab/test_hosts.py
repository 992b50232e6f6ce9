"""Hosts exist while they are needed and never afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.packets import own_namespaces
from vmtrace.lab import namespaces
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.hosts import (
    EmulatedPath,
    HostSettings,
    Topology,
    joined_hosts,
    module_environment,
    route_congestion_control,
)
from vmtrace.lab.impairments import Impairments

HOSTS = {"sender": HostSettings(), "receiver": HostSettings(sack=False)}
PATH = EmulatorSettings(Impairments(delay_s=0.005), Impairments(delay_s=0.005), 1)


def round_trip_s(path: EmulatedPath) -> float:
    """Time for a datagram to the receiver and back."""
    sockets = {}
    for role, host in path.hosts.items():
        with namespaces.inside(host.namespace):
            sockets[role] = socket.socket(socket.AF_INET6 if ":" in host.address else socket.AF_INET, socket.SOCK_DGRAM)
        sockets[role].bind((host.address, 4000))
        sockets[role].settimeout(10.0)
    with sockets["sender"] as near, sockets["receiver"] as far:
        began_s = time.monotonic()
        near.sendto(b"there", (path.hosts["receiver"].address, 4000))
        far.sendto(b"back", far.recvfrom(100)[1])
        assert near.recv(100) == b"back"
        return time.monotonic() - began_s


def start_run(folder: Path) -> subprocess.Popen[bytes]:
    """A scenario in a process of its own, already transferring."""
    command = [sys.executable, "-m", "vmtrace.lab.scenario", "clean-bbr-rtt100", "--out", str(folder)]
    process = subprocess.Popen(command, env=module_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (folder / "clean-bbr-rtt100" / "client.settings.json").exists() and process.poll() is None:
        time.sleep(0.02)
    time.sleep(0.2)
    return process


def programs_naming(folder: str) -> list[str]:
    """Command lines of running programs that were given a file in `folder`."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/" in line:
            lines.append(line)
    return lines


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize("topology", [Topology.TUN, Topology.OFFLOAD])
@pytest.mark.parametrize("ip_version", [4, 6])
def test_hosts_reach_each_other_over_the_path_and_are_gone_afterwards(
    tmp_path: Path, topology: Topology, ip_version: int
) -> None:
    with joined_hosts(topology, ip_version, 1500, HOSTS, PATH, tmp_path) as path:
        took_s = min(round_trip_s(path) for _ in range(30))
        assert path.device_drops() == 0
        emulator = path.emulator.pid
    assert 0.010 <= took_s < 0.013
    assert own_namespaces(os.getpid()) == []
    assert not Path(f"/proc/{emulator}").exists()


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_the_emulator_has_a_processor_that_no_program_of_a_host_uses(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    with joined_hosts(Topology.TUN, 4, 1500, HOSTS, PATH, tmp_path) as path:
        emulator = os.sched_getaffinity(path.emulator.pid)
        program = subprocess.run(["grep", "Cpus_allowed_list", "/proc/self/status"], stdout=subprocess.PIPE, check=True)
        assert len(emulator) == 1
        assert str(next(iter(emulator))) not in program.stdout.decode().split()[1].split(",")
        assert os.sched_getaffinity(0) | emulator == before
    assert os.sched_getaffinity(0) == before


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_ctrl_c_at_a_terminal_does_not_reach_the_emulator(tmp_path: Path) -> None:
    with joined_hosts(Topology.TUN, 4, 1500, HOSTS, PATH, tmp_path) as path:
        assert os.getpgid(path.emulator.pid) != os.getpgid(0)


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_guest_has_a_tap_device_in_the_place_of_its_host(tmp_path: Path) -> None:
    with joined_hosts(Topology.GUEST, 4, 1500, HOSTS, PATH, tmp_path) as path:
        assert len(own_namespaces(os.getpid())) == 3
        sender = path.hosts["sender"]
        assert (sender.namespace, sender.device) == (path.tun_namespaces["sender"], "tap0")
        with namespaces.inside(sender.namespace):
            assert Path("/proc/sys/net/ipv4/ip_forward").read_text().strip() == "1"
    assert own_namespaces(os.getpid()) == []


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize("ip_version", [4, 6])
def test_a_route_s_congestion_control_is_that_of_every_connection(tmp_path: Path, ip_version: int) -> None:
    hosts = {"sender": HostSettings(congestion_control="reno"), "receiver": HostSettings(congestion_control="cubic")}
    with joined_hosts(Topology.OFFLOAD, ip_version, 1500, hosts, PATH, tmp_path) as path:
        for host in path.hosts.values():
            route_congestion_control(host, ip_version)
        far = path.hosts["receiver"]
        family = socket.AF_INET6 if ip_version == 6 else socket.AF_INET
        with namespaces.inside(far.namespace):
            listening = socket.create_server((far.address, 4000), family=family)
        with namespaces.inside(path.hosts["sender"].namespace):
            near = socket.socket(family)
        with listening, near:
            near.connect((far.address, 4000))
            with listening.accept()[0] as accepted:
                used = [end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16) for end in (near, accepted)]
    assert [name.rstrip(b"\0") for name in used] == [b"reno", b"cubic"]


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_settings_are_the_host_s_own(tmp_path: Path) -> None:
    with joined_hosts(Topology.TUN, 4, 1500, HOSTS, PATH, tmp_path) as path:
        values = {}
        for role, host in path.hosts.items():
            with namespaces.inside(host.namespace):
                values[role] = Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip()
    assert values == {"sender": "1", "receiver": "0"}


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_failure_inside_tears_everything_down(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), joined_hosts(Topology.OFFLOAD, 4, 1500, HOSTS, PATH, tmp_path):
        raise ZeroDivisionError
    assert own_namespaces(os.getpid()) == []


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_failure_while_building_tears_everything_down(tmp_path: Path) -> None:
    refused = {"sender": HostSettings(), "receiver": HostSettings(sysctls={"net.ipv4.no_such_thing": "1"})}
    with (
        pytest.raises(RuntimeError, match="no_such_thing"),
        joined_hosts(Topology.TUN, 4, 1500, refused, PATH, tmp_path),
    ):
        pass
    assert own_namespaces(os.getpid()) == []


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_sigterm_tears_everything_down(tmp_path: Path) -> None:
    process = start_run(tmp_path)
    assert len(own_namespaces(process.pid)) == 2
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    assert own_namespaces(process.pid) == []


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_killed_run_leaves_no_program_behind(tmp_path: Path) -> None:
    process = start_run(tmp_path)
    folder = str(tmp_path / "clean-bbr-rtt100")
    assert len(programs_naming(folder)) >= 4  # emulator, both ends, captures
    process.kill()
    process.wait()
    deadline_s = time.monotonic() + 5
    while programs_naming(folder) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert programs_naming(folder) == []
    assert namespaces.delete_stale() != [] or own_namespaces(process.pid) == []
