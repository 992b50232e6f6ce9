"""The room runs on a bare Python 3.9, the oldest system Python of common cloud images."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.old_python import python39

ROOT = Path(__file__).parents[2]
PROGRAM = """
import importlib, json, pkgutil, socket, sys, time
from pathlib import Path
from vmtrace import capture
names = [module.name for module in pkgutil.walk_packages(capture.__path__, "vmtrace.capture.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
from vmtrace.capture.host_counters import HostCounters
from vmtrace.capture.host_facts import host_facts
from vmtrace.formats.provenance import read_table
from vmtrace.capture.tcp_info import SCHEMA, TcpInfoSampler
folder = Path(sys.argv[1])
json.dumps(host_facts("lo").as_record())
with HostCounters(folder / "host.csv", 0.05, "lo"):
    listener = socket.create_server(("127.0.0.1", 0))
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    sampler = TcpInfoSampler(folder / "tcp.csv")
    sampler.watch(0, "upload", near)
    near.sendall(bytes(1000))
    far.recv(1000, socket.MSG_WAITALL)
    sampler.unwatch(0, "upload")
    (last,) = sampler.finish()
assert last.bytes_sent == 1000, last
assert read_table(folder / "tcp.csv", SCHEMA).rows
print(len(names))
"""


@pytest.mark.may_skip
@pytest.mark.slow
def test_all_modules_load_and_the_host_s_half_works_on_python_3_9(tmp_path: Path) -> None:
    interpreter = python39()
    for room in ("capture", "formats"):
        copied = tmp_path / "copied/vmtrace" / room
        shutil.copytree(ROOT / room, copied, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [interpreter, "-W", "error", "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=tmp_path / "copied",
        env=environment | {"VMTRACE_METADATA": "never"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
