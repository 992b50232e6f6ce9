"""`vmtrace watch --interface`: what it says of an interface is what `vmtrace analyze` says of a recording beside it.

Subjects: `vmtrace/commands/watch_source.py`, `vmtrace/commands/watching.py`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.eventually import eventually

ROOT = Path(__file__).parents[2]
NAME, PEER, PLACE = "vmtwatch0", "vmtwatch1", "vmtrace-watch"
HERE, THERE = "198.18.78.1", "198.18.78.2"

pytestmark = [pytest.mark.root, pytest.mark.untimed, pytest.mark.slow]


@pytest.fixture
def interface() -> Iterator[str]:
    """An interface that nobody else uses: one end of a veth whose other end is in a namespace of its own."""
    commands = (
        f"ip netns add {PLACE}",
        f"ip link add {NAME} type veth peer name {PEER} netns {PLACE}",
        f"ip netns exec {PLACE} sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
        f"sysctl -qw net.ipv6.conf.{NAME}.disable_ipv6=1",
        f"ip addr add {HERE}/30 dev {NAME}",
        f"ip link set {NAME} up",
        f"ip netns exec {PLACE} ip addr add {THERE}/30 dev {PEER}",
        f"ip netns exec {PLACE} ip link set {PEER} up",
    )
    try:
        for command in commands:
            subprocess.run(command.split(), check=True, timeout=20)
        yield NAME
    finally:
        subprocess.run(["ip", "link", "del", NAME], check=False, capture_output=True, timeout=20)
        subprocess.run(["ip", "netns", "del", PLACE], check=False, timeout=20)


def vmtrace(*options: str, **more: Any) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "vmtrace", *options]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, cwd=ROOT, **more)


def downloads(count: int, size: int) -> None:
    """From a server here to a client in the namespace."""
    content = os.urandom(size)
    with socket.create_server((HERE, 8078)) as server:

        def serve() -> None:
            for _ in range(count):
                connection, _ = server.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(content)

        thread = threading.Thread(target=serve)
        thread.start()
        program = (
            "import socket\n"
            f"for _ in range({count}):\n"
            f"    with socket.create_connection(({HERE!r}, 8078)) as s:\n"
            "        s.sendall(b'GET')\n"
            "        while s.recv(1 << 16): pass\n"
        )
        subprocess.run(["ip", "netns", "exec", PLACE, sys.executable, "-c", program], check=True, timeout=60)
        thread.join(20)


def ended(process: subprocess.Popen[bytes]) -> tuple[bytes, str]:
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    return out, said.decode()


def test_an_interface_gives_what_a_recording_beside_it_gives(interface: str, tmp_path: Path) -> None:
    recorded = tmp_path / "beside.pcap"
    beside = vmtrace("capture", "--interface", interface, "--write", str(recorded), "--filter", "tcp", "--quiet")
    watched = vmtrace("watch", "--interface", interface, "--filter", "tcp", "--json-lines", "--every", "0.5s")
    # Both record once a first transfer is in the file and on the screen.
    assert watched.stdout is not None
    lines = list[dict[str, Any]]()
    reader = threading.Thread(target=lambda: lines.extend(map(json.loads, watched.stdout or ())))
    reader.start()
    assert eventually(lambda: _both_see(recorded, lines), 60)
    downloads(5, 400_000)
    time.sleep(1.0)
    watched.send_signal(signal.SIGINT)
    reader.join(60)
    assert watched.wait(60) == 0
    assert watched.stderr is not None
    assert watched.stderr.read() == b""
    watched.stdout.close()
    watched.stderr.close()
    ended(beside)
    done = subprocess.run(
        [sys.executable, "-m", "vmtrace", "analyze", str(recorded), "--json-lines"],
        capture_output=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    records = map(json.loads, done.stdout.splitlines())
    beside_it = {one["client"]: one for one in records if one["record"] == "connection"}
    seen = {one["client"]: one for one in lines if one["record"] == "connection"}
    compared = [client for client in seen if client in beside_it and seen[client]["handshake"]["complete"]]
    assert len(compared) >= 5
    for client in compared:
        ours, theirs = dict(seen[client]), dict(beside_it[client])
        for side in ("client_to_server", "server_to_client"):
            for name in ("packets", "wire_bytes", "unique_payload_bytes", "data_packets", "loss"):
                assert ours[side][name] == theirs[side][name], (client, side, name)
        # Each recorder's socket takes a time of its own.
        assert ours["duration_s"] == pytest.approx(theirs["duration_s"], abs=0.05)
        assert ours["close"] == theirs["close"]


def _both_see(recorded: Path, lines: list[dict[str, Any]]) -> bool:
    downloads(1, 1000)
    time.sleep(0.5)
    return recorded.exists() and recorded.stat().st_size > 500 and any(one["record"] == "status" for one in lines)


@pytest.mark.long
@pytest.mark.alone
def test_a_gigabit_takes_a_hundredth_of_a_core_for_each_100_mbit(interface: str) -> None:
    """For 60 s, one TCP transfer of 1,000 Mbit/s in packets of 1,500 bytes, tcpdump beside it."""
    for where in ([], ["ip", "netns", "exec", PLACE]):
        words = [*where, "ethtool", "-K", PEER if where else interface, "tso", "off", "gso", "off", "gro", "off"]
        subprocess.run(words, check=True, timeout=20)
    seconds, pipe = 60, subprocess.PIPE
    server = subprocess.Popen(["ip", "netns", "exec", PLACE, "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    beside = subprocess.Popen(
        ["tcpdump", "-i", interface, "-n", "-w", "/dev/null"], stdin=subprocess.DEVNULL, stderr=pipe
    )
    watched = vmtrace("watch", "--interface", interface, "--json-lines")
    assert watched.stdout is not None
    seen = list[dict[str, Any]]()
    reader = threading.Thread(target=lambda: seen.extend(map(json.loads, watched.stdout or ())))
    reader.start()
    assert eventually(lambda: _has_begun(seen), 60)
    [recorder] = map(int, Path(f"/proc/{watched.pid}/task/{watched.pid}/children").read_text().split())
    both = (watched.pid, recorder)
    before = [_processor_s(process_id) for process_id in both]
    words = ["iperf3", "-c", THERE, "-b", "1000M", "-t", str(seconds), "--json"]
    sent = json.loads(subprocess.run(words, check=True, capture_output=True, timeout=2 * seconds).stdout)
    took = [_processor_s(process_id) - was for process_id, was in zip(both, before, strict=True)]
    beside.send_signal(signal.SIGINT)
    tcpdump_said = (beside.communicate(timeout=60)[1] or b"").decode()
    watched.send_signal(signal.SIGINT)
    reader.join(120)
    assert watched.wait(120) == 0
    server.wait(20)
    assert watched.stderr is not None
    said = watched.stderr.read().decode()
    watched.stdout.close()
    watched.stderr.close()
    rate_mbps = sent["end"]["sum_received"]["bits_per_second"] / 1e6
    shares = [10_000 * one / seconds / rate_mbps for one in took]
    packets = max(one.get("packets", 0) for one in seen)
    print(f"{rate_mbps:.0f} Mbit/s, {packets} packets, load {os.getloadavg()[0]:.1f}; {said!r}; {tcpdump_said!r}")
    print(f"of a core for each 100 Mbit/s: {shares[0]:.2f} %, recorder {shares[1]:.2f} %")
    assert "\n0 packets dropped by kernel" not in tcpdump_said or said == ""
    assert shares[0] <= 1.0


def _has_begun(seen: list[dict[str, Any]]) -> bool:
    downloads(1, 1000)
    time.sleep(0.5)
    return bool(seen)


def _processor_s(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_interface_that_vanishes_is_one_line_and_what_was_measured(interface: str) -> None:
    watched = vmtrace("watch", "--interface", interface, "--json-lines", "--every", "0.5s")
    assert watched.stdout is not None
    lines = list[dict[str, Any]]()
    reader = threading.Thread(target=lambda: lines.extend(map(json.loads, watched.stdout or ())))
    reader.start()

    def has_seen() -> bool:
        downloads(1, 1000)
        time.sleep(0.5)
        return any(one["record"] == "connection" for one in lines)

    assert eventually(has_seen, 60)
    subprocess.run(["ip", "link", "del", interface], check=True, timeout=20)
    assert watched.wait(60) == 1
    reader.join(60)
    assert watched.stderr is not None
    said = watched.stderr.read().decode().splitlines()
    watched.stderr.close()
    watched.stdout.close()
    assert len(said) == 1
    assert said[0].startswith("vmtrace: ")


def test_an_interface_that_there_is_not_is_one_line() -> None:
    with vmtrace("watch", "--interface", "nosuch0", "--json-lines") as watched:
        out, said = watched.communicate(timeout=60)
    assert (out, watched.returncode) == (b"", 1)
    assert said.decode().count("\n") == 1
    assert "nosuch0" in said.decode()
