"""Requests of real kernels and a real TLS library, with what the client's own clock says of them.

A server with planted delays and a client take turns on loopback in a network namespace of their own, while tcpdump
records. The client measures each request around its own calls; the packets must say the same.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.on_loopback import namespace, recorded, started
from tests.busy_machine import too_busy
from vmtrace.analyze.trace import read
from vmtrace.lab.namespaces import missing_requirement

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_requirement()), reason=f"the lab: {missing_requirement()}"),
]

WITHIN_S = 0.05
"""How far the client's own clock may lie from the packets on a busy machine."""

SERVER = r"""
import ssl, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        _, wait, size = self.path.split("/")
        time.sleep(float(wait))
        self.answer(int(size))
    def do_POST(self):
        left = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 65536)))
        time.sleep(float(self.path.split("/")[1]))
        self.answer(2)
    def answer(self, size):
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
        self.wfile.write(head + b"x" * size)
    def log_message(self, *arguments):
        pass
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    context.set_alpn_protocols(["http/1.1"])
    if sys.argv[3] == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
"""

CLIENT = r"""
import http.client, json, socket, ssl, sys, time
port, tls, jobs = int(sys.argv[1]), sys.argv[2] == "tls", json.loads(sys.argv[3])
context = ssl._create_unverified_context() if tls else None
if tls:
    context.set_alpn_protocols(["http/1.1"])
made = http.client.HTTPSConnection, {"context": context}
kind, options = made if tls else (http.client.HTTPConnection, {})
connection = kind("127.0.0.1", port, **options)
connection.connect()
connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for wait, size, upload in jobs:
    begin = time.monotonic()
    if upload:
        connection.request("POST", f"/{wait}", b"u" * upload)
    else:
        connection.request("GET", f"/{wait}/{size}")
    sent = time.monotonic()
    response = connection.getresponse()
    first = time.monotonic()
    response.read()
    print(json.dumps([sent - begin, first - sent, time.monotonic() - begin]), flush=True)
    time.sleep(0.05)
connection.close()
"""


@dataclass(frozen=True, slots=True)
class Truth:
    """One request by the client's clock."""

    wait_s: float
    size: int
    upload: int
    request_s: float
    first_byte_s: float
    duration_s: float


def exchanged(folder: Path, jobs: list[tuple[float, int, int]], tls: str | None) -> tuple[list[Truth], dict[str, Any]]:
    """What the client measured, and the record of its connection."""
    capture, port = folder / "lo.pcap", 18_080
    secure = [str(certificate(folder)), tls] if tls else []
    with (
        namespace() as inside,
        started([*inside, sys.executable, "-c", SERVER, str(port), *secure], "ready"),
        recorded(inside, capture),
    ):
        words = [*inside, sys.executable, "-c", CLIENT, str(port), "tls" if tls else "plain", json.dumps(jobs)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    truths = [Truth(*job, *times) for job, times in zip(jobs, measured, strict=True)]
    (record,) = read(capture).json()["connections"]
    if record["close"] == "open":
        too_busy("the recorder has not all of the connection")
    return truths, record


def certificate(folder: Path) -> Path:
    """A key with its certificate in one file."""
    path = folder / "both.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    subprocess.run([*words.split(), "-keyout", path, "-out", folder / "cert.pem"], check=True, capture_output=True)
    path.write_text(path.read_text() + (folder / "cert.pem").read_text())
    return path


def drawn(seed: int, number: int) -> list[tuple[float, int, int]]:
    """Waits, sizes and uploads of requests."""
    dice = random.Random(seed)
    waits = [0.0, 0.02, 0.1, 0.25]
    sizes = [1, 500, 20_000, 1_000_000]
    return [(dice.choice(waits), dice.choice(sizes), dice.choice([0, 0, 0, 300_000])) for _ in range(number)]


@pytest.mark.parametrize("tls", [None, "1.2", "1.3"])
def test_packets_say_what_the_client_measured(tmp_path: Path, tls: str | None) -> None:
    truths, record = exchanged(tmp_path, drawn(31, 14), tls)
    assert record.get("requests_reason") is None
    totals, shown = record["request_totals"], record["requests"]
    assert (totals["count"], len(shown)) == (14, 14)
    for truth, one in zip(truths, shown, strict=True):
        assert one["first_byte_s"] >= truth.wait_s, truth
        assert one["duration_s"] == pytest.approx(truth.duration_s, abs=WITHIN_S), truth
        until_first_byte_s = truth.request_s + truth.first_byte_s
        assert one["request_s"] + one["first_byte_s"] == pytest.approx(until_first_byte_s, abs=WITHIN_S), truth
        least = truth.size if not truth.upload else 2
        assert least <= one["response_bytes"] <= least + 200, truth
        assert one["request_bytes"] >= truth.upload
        assert one["request_bytes"] <= truth.upload + 300


def test_the_wait_of_the_server_dominates_where_it_was_planted(tmp_path: Path) -> None:
    _, record = exchanged(tmp_path, [(0.3, 1000, 0)] * 5, "1.3")
    totals = record["request_totals"]
    assert totals["largest_part"] == "first_byte"
    assert totals["first_byte_median_s"] == pytest.approx(0.3, abs=WITHIN_S)
    assert "the rest is the server's" in totals["sentence"]
