"""A whole transfer on the oldest Python that is promised, both ends, from copied folders with nothing installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.old_python import python39

ROOT = Path(__file__).parents[2]
CLIENT = """
import sys
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.keys import load_key
from vmtrace.sender.wire.records import RunRequest, TransferRequest
from vmtrace.sender.wire.transfer import digest_ok, run_transfer

class Watch:
    def connected(self, *_): pass
    closing = moved = connected

control = Control.connect(Endpoint("127.0.0.1", int(sys.argv[1])), load_key("key"))
print(control.open_run(RunRequest()).python)
ALL = [("upload", 1, False), ("download", 2, False), ("both", 2, True)]
for number, (direction, streams, tls) in enumerate(ALL, 1):
    request = TransferRequest(number, 1, "data", 3_000_001, direction, streams, tls, 1 << 20)
    prepared = control.prepare(request)
    outcome = run_transfer(control, request, prepared, Watch())
    far = control.finish(number, outcome.sent)
    print(direction, digest_ok(outcome, far), far.error)
for file in control.files():
    control.fetch(file, lambda piece: None)
print(len(control.files()) >= 2)
control.close()
"""


@pytest.mark.may_skip
def test_a_whole_transfer_on_python_39(tmp_path: Path) -> None:
    python = python39()
    for room in ("capture", "formats", "sender", "receiver"):
        shutil.copytree(ROOT / room, tmp_path / "vmtrace" / room, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    words = [python, "-m", "vmtrace.receiver"]
    words += ["--key-file", "key", "--bind", "127.0.0.1", "--port", "0", "--no-capture"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    ) as program:
        assert program.stdout is not None
        line = ""
        while not line.startswith("listening on"):
            line = program.stdout.readline()
            assert line, program.stderr and program.stderr.read()
        port = line.rpartition(":")[2].strip()
        client = subprocess.run(
            [python, "-c", CLIENT, port],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        program.send_signal(signal.SIGTERM)
        _, err = program.communicate(timeout=15)
    assert client.stderr == ""
    assert client.stdout.splitlines() == [
        client.stdout.split("\n")[0],
        "upload True None",
        "download True None",
        "both True None",
        "True",
    ]
    assert client.stdout.startswith("3.9.")
    assert program.returncode == 0
    assert "Traceback" not in err
