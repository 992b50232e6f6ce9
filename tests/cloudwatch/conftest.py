"""Run folders, a CloudWatch of moto's over HTTP, and a server whose answers are written down in the test."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cloudwatch.made import ACCESS_KEY, SECRET_KEY, TOKEN, Command, Moto, RunMaker, Scripted
from vmtrace.cloudwatch import backoff
from vmtrace.cloudwatch.command import build_parser, run


@pytest.fixture(autouse=True)
def own_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials and configuration of the test, never those of whoever runs it; no waiting for long."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    monkeypatch.setattr(backoff, "_FIRST_S", 0.002)


@pytest.fixture
def command() -> Command:
    """Runs `vmtrace cloudwatch` with arguments in this process; returns the exit status."""

    def call(*arguments: str | Path) -> int:
        return run(build_parser().parse_args([str(argument) for argument in arguments]))

    return call


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[..., RunMaker]:
    def make(name: str = "run", **more: int) -> RunMaker:
        return RunMaker(tmp_path / name, **more)

    return make


@pytest.fixture
def ec2_run(new_run: Callable[..., RunMaker]) -> RunMaker:
    """A run of half an hour on an instance, two hours ago."""
    return new_run().facts()


@pytest.fixture(scope="session")
def moto_server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@pytest.fixture
def moto(moto_server: str) -> Moto:
    """An empty one."""
    server = Moto(moto_server)
    server.reset()
    return server


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    script = Scripted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            script.raw.append(f"{self.headers}{content!r}")
            operation = (self.headers.get("X-Amz-Target") or "").rpartition(".")[2]
            status, body = script.answer(operation, json.loads(content) if content.startswith(b"{") else {})
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in script.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return script.headers.get("X-Date") or super().date_time_string(timestamp)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
