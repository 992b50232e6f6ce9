"""A queue service whose responses drip: a signal ends the run within 5 s, with what was measured."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.eventually import eventually
from vmtrace.lab.hosts import module_environment


class _Sqs(BaseHTTPRequestHandler):
    """As much of SQS as a run needs to begin; messages are taken, and what is received drips a byte a second."""

    protocol_version = "HTTP/1.1"
    dripping = threading.Event()
    made = False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""

    def do_POST(self) -> None:
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = self._answer(operation, request)
        body = json.dumps(answer).encode().ljust(600)
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if operation not in {"ReceiveMessage", "DeleteQueue"}:
            self.wfile.write(body)
            return
        for byte in body:
            self.wfile.write(bytes([byte]))
            self.dripping.set()
            time.sleep(1)

    def _answer(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation == "GetQueueUrl" and not self.made:
            return 400, {"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "none"}
        if operation in {"CreateQueue", "GetQueueUrl"}:
            type(self).made = True
            return 200, {"QueueUrl": f"http://{self.headers['Host']}/1/{request['QueueName']}"}
        if operation == "SendMessage":
            return 200, {"MessageId": "1"}
        return 200, {"Attributes": {}} if operation == "GetQueueAttributes" else {}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that had enough of it is what the test is about."""


@contextmanager
def dripping() -> Iterator[str]:
    with _Server(("127.0.0.1", 0), _Sqs) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_first_signal_ends_a_run_with_a_queue_that_drips(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["--rate", "20", "--messages", "100", "--senders", "1", "--receivers", "1", "--visibility", "2s"]
    with dripping() as url:
        kept = {name: value for name, value in module_environment().items() if not name.startswith("AWS_")}
        account = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
        command = [sys.executable, "-m", "vmtrace", "queue", "run", "--provider", "sqs", "--out", str(out)]
        running = subprocess.Popen(
            [*command, "--no-capture", "--quiet", "--endpoint-url", url, "--region", "us-east-1", *words],
            env={**kept, **account, "AWS_EC2_METADATA_DISABLED": "true"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        eventually(lambda: running.poll() is not None or (_Sqs.dripping.is_set() and sends_logged(out) > 3), 60)
        assert running.poll() is None, running.communicate()
        running.send_signal(signal.SIGTERM)
        began_s = time.monotonic()
        _, shown = running.communicate(timeout=60)
        assert time.monotonic() - began_s < 8.0
    assert running.returncode == 130, shown
    state = json.loads((out / "run.json").read_text())
    assert (state["status"], state["queue_removed"]) == ("interrupted", False)
    assert state["left_behind"][0]["name"] == state["queue"]
    assert sends_logged(out) > 3


def sends_logged(out: Path) -> int:
    """Calls in the log of the only sender."""
    return sum(path.read_text().count("start_ns") for path in (out / "logs").glob("*sender*.jsonl"))
