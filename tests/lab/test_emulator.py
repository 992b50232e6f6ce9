"""The emulator's loop between two socket pairs instead of TUN devices: complete log, exact delay, same drops."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.busy_machine import where_it_ran
from tests.lab.packets import tcp_packet
from vmtrace.lab.emulator import Emulator, EmulatorSettings, settings_from_json
from vmtrace.lab.fate_log import PacketFate, read_binary
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.impairments import BurstLoss, Hold, Impairments, TokenBucket

pytestmark = pytest.mark.alone


def carry(
    folder: Path, settings: EmulatorSettings, send: Callable[[socket.socket, socket.socket], None]
) -> tuple[list[PacketFate], dict[str, Any], list[bytes]]:
    """Run the emulator around `send`; returns its log, its report and what came out on the receiver's side."""
    near, near_inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    far, far_inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for inside in (near_inside, far_inside):
        inside.setblocking(False)
        inside.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_000_000)
    (folder / "settings").write_text(json.dumps(asdict(settings)))
    descriptors = (near_inside.fileno(), far_inside.fileno())
    command = [sys.executable, "-m", "vmtrace.lab.emulator", "--descriptors", *map(str, descriptors)]
    command += [
        "--settings",
        str(folder / "settings"),
        "--log",
        str(folder / "log"),
        "--report",
        str(folder / "report"),
    ]
    process = subprocess.Popen(command, pass_fds=descriptors, stdout=subprocess.PIPE, env=module_environment())
    try:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        send(near, far)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stdout.close() is None
    finally:
        process.kill()
        process.wait()
    far.setblocking(False)
    arrived = _drain(far)
    for end in (near, far, near_inside, far_inside):
        end.close()
    report = json.loads((folder / "report").read_text())
    return read_binary(folder / "log", report["unix_offset_ns"]), report, arrived


def _drain(end: socket.socket) -> list[bytes]:
    arrived = []
    try:
        while packet := end.recv(65_536):
            arrived.append(packet)
    except BlockingIOError:
        pass
    return arrived


def paced(count: int, interval_s: float) -> Callable[[socket.socket, socket.socket], None]:
    def send(near: socket.socket, far: socket.socket) -> None:
        due_s = time.monotonic()
        for number in range(count):
            near.send(tcp_packet(number * 100, 100, ip_id=number))
            due_s += interval_s
            time.sleep(max(0.0, due_s - time.monotonic()))

    return send


LOSSY = Impairments(
    delay_s=0.005,
    loss=0.1,
    duplicate=0.05,
    duplicate_delay_s=0.003,
    corrupt=0.05,
    reorder=0.05,
    reorder_delay_s=0.004,
)


def test_same_seed_loses_the_same_packets(tmp_path: Path) -> None:
    lost = []
    for turn in range(2):
        folder = tmp_path / str(turn)
        folder.mkdir()
        rows, _, _ = carry(folder, EmulatorSettings(LOSSY, Impairments(), 5), paced(300, 0.0005 * (turn + 1)))
        lost.append([(row.number, row.fate) for row in rows if row.fate != "delivered"])
    assert lost[0] == lost[1]
    assert len(lost[0]) > 30


def test_log_has_every_packet_once_and_says_what_arrived(tmp_path: Path) -> None:
    rows, _, arrived = carry(tmp_path, EmulatorSettings(LOSSY, Impairments(), 6), paced(400, 0.0005))
    first = [row for row in rows if row.fate != "duplicate"]
    assert [row.number for row in first] == list(range(400))
    out = sorted((row for row in rows if not row.lost), key=lambda row: row.time_out_ns)
    assert [row.ip_id for row in out] == [int.from_bytes(packet[4:6]) for packet in arrived]
    sent = {row.ip_id: row.fate for row in first}
    assert all((packet[40:] != bytes(100)) == (sent[int.from_bytes(packet[4:6])] == "corrupted") for packet in arrived)


def test_delay_error_is_below_a_millisecond(tmp_path: Path) -> None:
    def check() -> None:
        rows, _, _ = carry(tmp_path, EmulatorSettings(Impairments(delay_s=0.01), Impairments(), 1), paced(1000, 0.0005))
        errors_s = sorted(abs(row.time_out_ns - row.time_in_ns - 10_000_000) / 1e9 for row in rows)
        assert len(errors_s) == 1000
        assert statistics.median(errors_s) < 0.0005
        assert errors_s[980] < 0.001

    where_it_ran(check)


def test_directions_do_not_mix(tmp_path: Path) -> None:
    def both(near: socket.socket, far: socket.socket) -> None:
        near.send(tcp_packet(1, 10))
        far.send(tcp_packet(2, 20))
        far.settimeout(10)
        near.settimeout(10)
        assert far.recv(2000) == tcp_packet(1, 10)
        assert near.recv(2000) == tcp_packet(2, 20)

    rows, report, _ = carry(tmp_path, EmulatorSettings(Impairments(), Impairments(delay_s=0.01), 1), both)
    assert sorted((row.direction, row.seq) for row in rows) == [("forward", 1), ("reverse", 2)]
    assert report["refused_writes"] == 0


def test_packets_on_their_way_at_the_end_are_delivered_or_marked(tmp_path: Path) -> None:
    forward = Impairments(delay_s=0.1, reorder=0.5, reorder_delay_s=30.0)
    rows, _, arrived = carry(tmp_path, EmulatorSettings(forward, Impairments(), 3), paced(20, 0.001))
    kept = [row for row in rows if row.fate == "undelivered"]
    assert len(rows) == 20
    assert len(arrived) == 20 - len(kept)
    assert 0 < len(kept) < 20
    assert all(row.lost for row in kept)


def test_a_copy_that_would_come_after_the_end_is_none(tmp_path: Path) -> None:
    forward = Impairments(duplicate=1.0, duplicate_delay_s=30.0)
    rows, _, arrived = carry(tmp_path, EmulatorSettings(forward, Impairments(), 3), paced(20, 0.001))
    assert [row.number for row in rows if row.fate == "delivered"] == list(range(20))
    assert not any(row.lost for row in rows)
    assert len(arrived) == len(rows) < 40


def test_a_frozen_side_is_left_alone_and_then_served_at_once(tmp_path: Path) -> None:
    where_it_ran(lambda: freeze_and_thaw(tmp_path))


def freeze_and_thaw(folder: Path) -> None:
    stood: list[tuple[int, int]] = []
    others = set(children_of(os.getpid()))  # servers of other tests

    def send(near: socket.socket, far: socket.socket) -> None:
        (number,) = set(children_of(os.getpid())) - others
        far.send(tcp_packet(1, 10))
        os.kill(number, signal.SIGUSR1)
        start_ns = time.time_ns()
        time.sleep(0.02)
        for count in range(5):
            near.send(tcp_packet(10 + count, 10))
            far.send(tcp_packet(20 + count, 10))
            time.sleep(0.02)
        near.setblocking(False)
        with pytest.raises(BlockingIOError):
            near.recv(100)
        os.kill(number, signal.SIGUSR2)
        stood.append((start_ns, time.time_ns()))
        near.setblocking(True)
        near.settimeout(10)
        assert [near.recv(100) for _ in range(6)] == [tcp_packet(seq, 10) for seq in (1, 20, 21, 22, 23, 24)]
        # Only with real-time priority both sides are served before this goes on.
        far.settimeout(10)
        assert [far.recv(100) for _ in range(5)] == [tcp_packet(seq, 10) for seq in range(10, 15)]

    rows, _, more = carry(folder, EmulatorSettings(Impairments(), Impairments(delay_s=0.01), 1), send)
    ((_, thaw_ns),) = stood
    assert more == []
    assert all(thaw_ns - 5e6 < row.time_out_ns < thaw_ns + 50e6 for row in rows)
    assert all(row.time_in_ns > thaw_ns - 5e6 for row in rows if row.direction == "forward")
    assert all(row.delay_error_ns < 20e6 for row in rows)  # the freeze itself is no error of the emulator


def children_of(process_id: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]


def test_a_packet_can_have_waited_since_its_side_was_last_empty(tmp_path: Path) -> None:
    near, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    far, far_inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with near, inside, far, far_inside:
        inside.setblocking(False)
        path = EmulatorSettings(Impairments(delay_s=0.05), Impairments(), 1)
        emulator = Emulator((inside.fileno(), far_inside.fileno()), path, tmp_path / "log")
        most_ns = []
        for seq in (1, 2):
            start_ns = time.monotonic_ns()
            emulator._take_in(0)  # sees the side empty
            time.sleep(0.01)
            near.send(tcp_packet(seq, 10))
            emulator._take_in(0)
            most_ns.append(time.monotonic_ns() - start_ns)
        emulator.stop()
        emulator.run()
    rows = read_binary(tmp_path / "log", 0)
    assert [row.seq for row in rows] == [1, 2]
    assert all(10e6 <= row.waited_ns <= most for row, most in zip(rows, most_ns, strict=True))
    assert all(row.delay_error_ns == row.waited_ns + row.time_out_ns - row.time_due_ns for row in rows)


def test_settings_survive_their_file() -> None:
    forward = Impairments(
        burst_loss=BurstLoss(0.1, 0.2), token_bucket=TokenBucket(1e6, 5), holds=(Hold(1, 2, True),), drop_packets=(1,)
    )
    settings = EmulatorSettings(forward, Impairments(delay_s=1.0), 9)
    assert settings_from_json(json.loads(json.dumps(asdict(settings)))) == settings


def test_a_closed_device_does_not_end_the_emulator_silently(tmp_path: Path) -> None:
    def send(near: socket.socket, far: socket.socket) -> None:
        far.shutdown(socket.SHUT_RD)
        near.send(tcp_packet(1, 10))
        time.sleep(0.1)

    _, report, _ = carry(tmp_path, EmulatorSettings(Impairments(), Impairments(), 1), send)
    assert report["refused_writes"] == 1
    assert (tmp_path / "log").stat().st_size > 0
