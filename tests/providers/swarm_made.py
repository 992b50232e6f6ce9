"""A swarm on loopback: torrents of random bytes, seeds in this process, and a web server that can misbehave."""

import http.server
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab.services.process import free_ports
from vmtrace.providers.swarm import seed as seeding
from vmtrace.providers.swarm.client import session
from vmtrace.providers.swarm.torrent import Torrent, made_torrent

LOOPBACK = "127.0.0.1"
WEB_ADDRESS = "127.0.0.2"  # libtorrent bans an address whole: that of seeds is another


def shared_file(folder: Path, size_bytes: int, piece_bytes: int = 0) -> tuple[Path, Torrent]:
    """A file of random bytes and its torrent."""
    folder.mkdir(exist_ok=True)
    path = folder / "data.bin"
    path.write_bytes(os.urandom(size_bytes))
    return path, made_torrent(path, piece_bytes=piece_bytes)


@contextmanager
def seed(file: Path, torrent: Torrent, rate_bytes_s: int | None = None) -> Iterator[tuple[str, int]]:
    """A seed in this process; yields where it listens."""
    port = free_ports(LOOPBACK, 1)[0]
    order = seeding.SeedOrder(file, torrent, (), (LOOPBACK,), port, rate_bytes_s, None)
    sharing = session(f"{LOOPBACK}:{port}")
    seeding._wait_until_listening(sharing, order)
    handle = seeding._added(sharing, order)
    try:
        yield LOOPBACK, port
    finally:
        sharing.remove_torrent(handle)
        sharing.pause()


@dataclass
class Behaviour:
    """What the web server does to requests."""

    content: bytes
    status: int | None = None
    """Answer this, instead of the object."""
    ranges: bool = True
    flips: bool = False
    """Send wrong bytes."""
    requests: list[str] = field(default_factory=list)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that leaves early is what tests are about."""


@contextmanager
def web_server(behaviour: Behaviour) -> Iterator[str]:
    """A plain web server on loopback; yields the object's URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            behaviour.requests.append(self.path)
            if behaviour.status is not None:
                self.send_response(behaviour.status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            content, size = behaviour.content, len(behaviour.content)
            if found and behaviour.ranges:
                first, last = int(found[1]), int(found[2])
                content = content[first : last + 1]
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
            else:
                self.send_response(200)
            if behaviour.flips:
                content = bytes(byte ^ 1 for byte in content)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = _Server((WEB_ADDRESS, 0), Handler)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    try:
        yield f"http://{WEB_ADDRESS}:{server.server_port}/data.bin"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
