"""Downloads whose ACKs wait behind an upload: real kernels, and a router between them that shapes both ways."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.analyze.on_loopback import recorded, started
from vmtrace.analyze.trace import read
from vmtrace.lab import namespaces

pytestmark = [
    pytest.mark.root,
    pytest.mark.long,
    pytest.mark.skipif(bool(namespaces.missing_requirement()), reason=f"{namespaces.missing_requirement()}"),
    pytest.mark.skipif(shutil.which("tc") is None, reason="tc is not installed"),
]

_SERIAL = count(8000)
SERVER = """
import socket, threading
def sends(one):
    try:
        while True:
            one.sendall(bytes(65536))
    except OSError:
        pass
def takes(one):
    while one.recv(65536):
        pass
def serve(port, what):
    listening = socket.create_server(("0.0.0.0", port))
    while True:
        threading.Thread(target=what, args=(listening.accept()[0],), daemon=True).start()
threading.Thread(target=serve, args=(9001, takes), daemon=True).start()
print("ready", flush=True)
serve(9000, sends)
"""
CLIENT = """
import socket, sys, threading, time
end = time.monotonic() + 6
def download():
    with socket.create_connection(("10.2.0.2", 9000)) as one:
        while time.monotonic() < end:
            one.recv(65536)
def upload():
    time.sleep(0.5)
    with socket.create_connection(("10.2.0.2", 9001)) as one:
        while time.monotonic() < end:
            one.send(bytes(65536))
threads = [threading.Thread(target=what) for what in (download, *([upload] if sys.argv[1] == "both" else []))]
[one.start() for one in threads]
[one.join() for one in threads]
"""


@contextmanager
def path(up: str, down: str) -> Iterator[tuple[list[str], list[str]]]:
    """The words that run a program at the client and at the server."""
    names = [namespaces.namespace_name(place, next(_SERIAL)) for place in ("ackc", "ackr", "acks")]
    client, router, server = (namespaces.exec_prefix(name) for name in names)
    with ExitStack() as stack:
        for name in names:
            namespaces.create(name)
            stack.callback(namespaces.delete, name)

        def does(inside: list[str], *lines: str) -> None:
            for line in lines:
                subprocess.run([*inside, *line.split()], check=True, capture_output=True)

        for number, inside in ((1, client), (2, server)):
            does(inside, f"ip link add eth0 type veth peer name r{number} netns {names[1]}",
                 f"ip addr add 10.{number}.0.2/24 dev eth0", "ip link set eth0 up")  # fmt: skip
            does(router, f"ip addr add 10.{number}.0.1/24 dev r{number}", f"ip link set r{number} up")
            does(inside, f"ip route add default via 10.{number}.0.1")
        does(router, "sysctl -qw net.ipv4.ip_forward=1")
        for device, rate in (("r2", up), ("r1", down)):
            does(router, f"tc qdisc add dev {device} root tbf rate {rate} burst 4k latency 200ms")
        yield client, server


@pytest.mark.parametrize(("up", "down"), [("2mbit", "10mbit"), ("5mbit", "20mbit"), ("5mbit", "5mbit")])
def test_a_download_waits_for_acks_that_an_upload_holds_back(up: str, down: str, tmp_path: Path) -> None:
    with (
        path(up, down) as (client, server),
        started([*server, sys.executable, "-c", SERVER], "ready"),
        recorded(client, tmp_path / "client.pcap", device="eth0"),
        recorded(server, tmp_path / "server.pcap", device="eth0"),
    ):
        subprocess.run([*client, sys.executable, "-c", CLIENT, "both"], check=True, timeout=60)
    for end in ("client", "server"):
        trace = read(tmp_path / f"{end}.pcap")
        download = next(one for one in trace.json()["connections"] if one["server"].endswith(":9000"))
        assert download["verdict"]["factor"] == "ack_path_full", (end, download["verdict"])
        assert trace.findings[0].kind == "queue_shared", end
        assert trace.findings[0].cost_s == pytest.approx(download["verdict"]["saves_s"])


def test_a_download_alone_fills_its_link(tmp_path: Path) -> None:
    with (
        path("2mbit", "10mbit") as (client, server),
        started([*server, sys.executable, "-c", SERVER], "ready"),
        recorded(client, tmp_path / "client.pcap", device="eth0"),
        recorded(server, tmp_path / "server.pcap", device="eth0"),
    ):
        subprocess.run([*client, sys.executable, "-c", CLIENT, "alone"], check=True, timeout=60)
    for end in ("client", "server"):
        (one,) = read(tmp_path / f"{end}.pcap").json()["connections"]
        assert not any(part["kind"] == "ack_path_full" for part in one["account"]), end
        assert one["verdict"]["factor"] == "bottleneck_bandwidth", end
