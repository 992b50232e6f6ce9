"""curl against nginx across an emulated path, with curl's own clock (`--write-out '%{json}'`) as the truth.

nginx serves files, and passes `/wait/SECONDS/BYTES` to an application that takes so long for so much. Both ends are
captured.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.analyze.on_loopback import recorded, started
from vmtrace.lab import hosts, namespaces
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.hosts import EmulatedPath, HostSettings, Topology
from vmtrace.lab.impairments import Impairments

PORTS = {"plain": 8080, "tls12": 8412, "tls13": 8413, "h2tls12": 8422, "h2tls13": 8423}
"""Ports by what is spoken there: `h2` where HTTP/2 is offered."""

_SHORT_BODY_BYTES = 1000

_APPLICATION = r"""
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        _, _, wait, size = self.path.split("/")
        left = int(self.headers.get("Content-Length") or 0)
        while left:
            left -= len(self.rfile.read(min(left, 65536)))
        time.sleep(float(wait))
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
        self.wfile.write(head + b"x" * int(size))
    do_POST = do_GET
    def log_message(self, *arguments):
        pass
class Server(ThreadingHTTPServer):
    request_queue_size = 128
server = Server(("127.0.0.1", 8000), Handler)
print("ready", flush=True)
server.serve_forever()
"""

_SETTINGS = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{}}
http {{ access_log off; client_max_body_size 0; keepalive_requests 100000;
client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; ssl_certificate {folder}/cert.pem;
ssl_certificate_key {folder}/key.pem; {servers} }}
"""
_SERVER = (
    "server {{ listen {address}:{port}{options}; {protocols} root {folder}; "
    "location /wait/ {{ proxy_pass http://127.0.0.1:8000; proxy_request_buffering on; }} }}\n"
)


def missing() -> str | None:
    """What keeps this from running, in one line."""
    absent = [name for name in ("curl", "openssl", "tcpdump") if shutil.which(name) is None]
    absent += [] if _nginx() else ["nginx"]
    return f"{', '.join(absent)} not installed" if absent else None


def _nginx() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")


@dataclass(frozen=True, slots=True)
class Site:
    """nginx at the far end of a path: where curl runs, and what it is to call nginx."""

    inside: Sequence[str]
    address: str


@contextmanager
def site(folder: Path, rtt_s: float, rate_bps: float = 0.0) -> Iterator[Site]:
    """The path with nginx and its application behind it, both ends captured in `client.pcap` and `server.pcap`."""
    with ExitStack() as stack:
        path = stack.enter_context(_path(folder, rtt_s, rate_bps))
        client, server = path.hosts["sender"], path.hosts["receiver"]
        inside = {host.role: namespaces.exec_prefix(host.namespace) for host in (client, server)}
        _certificate(folder)
        servers = "".join(_server(kind, port, server.address, folder) for kind, port in PORTS.items())
        (folder / "nginx.conf").write_text(_SETTINGS.format(folder=folder, servers=servers))
        there = Site(inside["sender"], server.address)
        stack.enter_context(started([*inside["receiver"], sys.executable, "-c", _APPLICATION], "ready"))
        stack.enter_context(_running(folder, inside["receiver"], there))
        for host, name in ((client, "client"), (server, "server")):
            capture = folder / f"{name}.pcap"
            stack.enter_context(recorded(inside[host.role], capture, "tcp", host.device))
        yield there


@contextmanager
def _path(folder: Path, rtt_s: float, rate_bps: float) -> Iterator[EmulatedPath]:
    direction = Impairments(delay_s=rtt_s / 2, rate_bps=rate_bps, queue_bytes=600_000 if rate_bps else 0)
    plain = HostSettings(segmentation_offload=False, receive_offload=False)
    emulator = EmulatorSettings(forward=direction, reverse=direction, seed=1)
    settings = {"sender": plain, "receiver": plain}
    with hosts.joined_hosts(Topology.OFFLOAD, 4, 1500, settings, emulator, folder) as path:
        yield path


@contextmanager
def _running(folder: Path, inside: Sequence[str], there: Site) -> Iterator[None]:
    words = [*inside, str(_nginx()), "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            asked = ["curl", "-s", "-o", "/dev/null", "--retry", "20", "--retry-connrefused", "--retry-delay", "1"]
            url = f"http://{there.address}:{PORTS['plain']}/"
            subprocess.run([*there.inside, *asked, url], check=True, timeout=60)
            yield
        finally:
            program.terminate()


def _server(kind: str, port: int, address: str, folder: Path) -> str:
    protocols = {"2": "ssl_protocols TLSv1.2;", "3": "ssl_protocols TLSv1.3;"}.get(kind[-1], "")
    options = (" ssl" if protocols else "") + (" http2" if kind.startswith("h2") else "")
    return _SERVER.format(port=port, options=options, protocols=protocols, address=address, folder=folder)


def _certificate(folder: Path) -> None:
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    places = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*words.split(), *places], check=True, capture_output=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request by curl's clock."""

    port: int
    """curl's end of the connection."""
    until_first_byte_s: float
    """From the moment at which it could be sent."""
    duration_s: float
    request_bytes: int
    response_bytes: int


def curl(there: Site, kind: str, paths: Sequence[str], options: Sequence[str] = ()) -> list[Asked]:
    """Asks for all paths in one command, hence on one connection where that can be; what curl measured, in order."""
    scheme = "http" if kind == "plain" else "https"
    words = [*there.inside, "curl", "-s", "-k", "-w", "%{json}\n", *options]
    for path in paths:
        words += [f"{scheme}://{there.address}:{PORTS[kind]}{path}", "-o", "/dev/null"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    return [_asked(json.loads(line)) for line in done.stdout.splitlines()]


def _asked(measured: dict[str, Any]) -> Asked:
    assert measured["http_code"] in (200, 404, 405), measured
    # A short body goes with its head, which curl then counts with it.
    upload = measured["size_upload"] if measured["size_upload"] > _SHORT_BODY_BYTES else 0
    return Asked(
        port=measured["local_port"],
        until_first_byte_s=measured["time_starttransfer"] - measured["time_pretransfer"],
        duration_s=measured["time_total"] - measured["time_pretransfer"],
        request_bytes=measured["size_request"] + upload,
        response_bytes=measured["size_header"] + measured["size_download"],
    )
