"""An end of a transfer: the bytes it makes up, and how it takes its orders."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vmtrace.lab.endpoint import _random_bytes
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.transfer import Transfer


def run_client(folder: Path, port: int, transfer: Transfer) -> subprocess.CompletedProcess[str]:
    orders: dict[str, Any] = {"end": "client", "address": "127.0.0.1", "port": port, "transfer": asdict(transfer)}
    orders |= {"congestion_control": "reno", "tcp_info": str(folder / "info.csv"), "result": str(folder / "result")}
    (folder / "orders").write_text(json.dumps(orders))
    command = [sys.executable, "-m", "vmtrace.lab.endpoint", str(folder / "orders")]
    return subprocess.run(command, env=module_environment(), check=False, capture_output=True, text=True, timeout=20)


def read_all(listener: socket.socket, got: bytearray) -> None:
    sock, _ = listener.accept()
    with sock:
        while chunk := sock.recv(65_536):
            got += chunk


def test_made_up_bytes_have_the_length_asked_for_across_the_block_s_end() -> None:
    joined = _random_bytes(0, 1 << 20)
    assert _random_bytes((1 << 20) - 10, 25) == joined[-10:] + joined[:15]
    assert len(_random_bytes(5, 3_000_000)) == 3_000_000


def test_client_sends_what_its_digest_says_and_ends_the_stream(tmp_path: Path) -> None:
    got = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        reader = threading.Thread(target=read_all, args=(listener, got))
        reader.start()
        assert run_client(tmp_path, listener.getsockname()[1], Transfer(payload_bytes=100_000)).returncode == 0
        reader.join()
    (connection,) = json.loads((tmp_path / "result").read_text())["connections"]
    assert connection["sent_bytes"] == len(got) == 100_000
    assert connection["sent_digest"] == hashlib.sha256(got).hexdigest()


def test_a_refused_connection_is_one_line_and_status_one(tmp_path: Path) -> None:
    done = run_client(tmp_path, 1, Transfer())
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "ConnectionRefusedError" in done.stderr
