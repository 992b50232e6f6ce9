"""Hosts less than a millisecond apart, with a queue of the kernel's own between: what a capture behind the queue says.

The lab's paths have delay; here the round trip is tens of microseconds, and all but that is the queue.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import vmtrace
from tests.busy_machine import where_it_ran
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.settings import CaptureSettings
from vmtrace.lab import namespaces

SENDER, RECEIVER = "198.18.90.1", "198.18.90.2"
PORT = 5000
RATE = "40mbit"
SECONDS = 2.0


@pytest.fixture
def nearby() -> Iterator[tuple[str, str]]:
    """Two namespaces joined by a veth pair, of which the sender's end is held to `RATE` by a token bucket of 32 kB."""
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
    sender, receiver = (namespaces.namespace_name(role, 90) for role in ("near", "far"))
    try:
        namespaces.create(sender)
        namespaces.create(receiver)
        namespaces.run_program(f"ip link add v0 netns {sender} type veth peer name v0 netns {receiver}".split())
        for name, address in ((sender, SENDER), (receiver, RECEIVER)):
            namespaces.run_program(f"ip -n {name} addr add {address}/30 dev v0".split())
            namespaces.run_program(f"ip -n {name} link set v0 up".split())
        shaper = f"tc -n {sender} qdisc add dev v0 root tbf rate {RATE} burst 32kb latency 50ms"
        try:
            namespaces.run_program(shaper.split())
        except (OSError, RuntimeError) as error:
            pytest.skip(f"no token bucket filter here: {error}")
        yield sender, receiver
    finally:
        namespaces.delete(sender)
        namespaces.delete(receiver)


def factor_at_the_receiver(hosts: tuple[str, str], folder: Path, pause_s: float) -> str:
    """Of a transfer that writes 64 kB at a time, as soon as it can or after a pause."""
    with namespaces.inside(hosts[1]):
        recorder = Recorder(CaptureSettings("v0", filter=f"tcp port {PORT}"), folder / "receiver.pcap")
        recorder.start()
        listener = socket.create_server((RECEIVER, PORT))
    try:
        taker = threading.Thread(target=_take_all, args=(listener,))
        taker.start()
        with namespaces.inside(hosts[0]):
            sending = socket.create_connection((RECEIVER, PORT))
        ends_s = time.monotonic() + SECONDS
        with sending:
            while time.monotonic() < ends_s:
                sending.sendall(bytes(65536))
                time.sleep(pause_s)
        taker.join()
    finally:
        listener.close()
        recorder.stop()
    trace = vmtrace.read(folder / "receiver.pcap")
    trace.load(["verdict_factor"])
    (factor,) = trace.values("verdict_factor")
    return str(factor)


def _take_all(listener: socket.socket) -> None:
    accepted, _ = listener.accept()
    with accepted:
        while accepted.recv(1 << 16):
            pass


def check_factor(hosts: tuple[str, str], folder: Path, pause_s: float, expected: str) -> None:
    def check() -> None:
        factor = factor_at_the_receiver(hosts, folder, pause_s)
        assert factor == expected

    where_it_ran(check)


@pytest.mark.root
def test_a_full_queue_is_no_application_that_waits(nearby: tuple[str, str], tmp_path: Path) -> None:
    check_factor(nearby, tmp_path, 0, "bottleneck_bandwidth")


@pytest.mark.root
def test_an_application_that_waits_is_no_full_queue(nearby: tuple[str, str], tmp_path: Path) -> None:
    check_factor(nearby, tmp_path, 0.08, "application")
