"""`vmtrace agent` writes one file that a bare Python 3.9 runs."""

import functools
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vmtrace.commands.agent import agent_bytes

PLAN = '{"entries": [{"pairs": 2, "probe": "16 KiB", "data": {"bytes": "256 KiB", "direction": "both"}}]}'


@functools.cache
def oldest_python() -> str:
    """The oldest Python of 3.9 or newer on this machine that starts."""
    return next(filter(_starts, _pythons()), sys.executable)


def _pythons() -> Iterator[str]:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for name in ("python3.9", "python3.10"):
        yield from map(str, versions.glob(f"*/bin/{name}"))
        yield from filter(None, [shutil.which(name)])


def _starts(python: str) -> bool:
    return subprocess.run([python, "-I", "-c", ""], capture_output=True, check=False, timeout=60).returncode == 0


@pytest.fixture
def agent(vmtrace: Any, tmp_path: Path) -> Path:
    done = vmtrace("agent", "--write", "agent.pyz")
    assert done.returncode == 0, done.stderr
    return tmp_path / "agent.pyz"


def run(agent: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(_command(agent, *words), capture_output=True, text=True, env=_bare(), check=False, timeout=60)


def _command(agent: Path, *words: str | Path) -> list[str]:
    # -I: neither this checkout nor anything that is installed for the user.
    return [oldest_python(), "-I", str(agent), *map(str, words)]


def _bare() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LANG": "C"}


def test_it_is_one_file_that_can_be_executed(agent: Path) -> None:
    assert agent.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert stat.S_IMODE(agent.stat().st_mode) == 0o755
    rooms = {"/".join(name.split("/")[:2]) for name in zipfile.ZipFile(agent).namelist()}
    inside = {"__init__.py", "capture", "formats", "receiver", "sender"}
    assert rooms == {"__main__.py", *(f"vmtrace/{name}" for name in inside)}


def test_the_same_sources_give_the_same_bytes() -> None:
    assert agent_bytes("1") == agent_bytes("1")
    assert agent_bytes("1") != agent_bytes("2")


def test_it_knows_its_version(agent: Path, vmtrace: Any) -> None:
    assert run(agent, "--version").stdout == vmtrace("--version").stdout


def test_a_folder_that_is_not_there_is_one_line(vmtrace: Any) -> None:
    done = vmtrace("agent", "--write", "nowhere/agent.pyz")
    assert (done.returncode, done.stderr) == (1, "vmtrace: nowhere/agent.pyz: No such file or directory\n")


def test_a_campaign_between_two_agents_on_a_bare_python(agent: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(PLAN)
    key, out = tmp_path / "key", tmp_path / "run"
    words = (
        "receive",
        "--key-file",
        key,
        "--bind",
        "127.0.0.1",
        "--port",
        "0",
        "--out",
        tmp_path / "there",
        "--json-lines",
    )
    receiver = subprocess.Popen(_command(agent, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_bare())
    try:
        assert receiver.stdout is not None
        events = (json.loads(line) for line in receiver.stdout)
        port = next(event["port"] for event in events if event["event"] == "listening")
        to_it = ("127.0.0.1", "--port", str(port), "--key-file", key, "--no-instance-metadata")
        capture = () if os.geteuid() == 0 else ("--no-capture",)
        done = run(agent, "send", *to_it, "--out", out, "--plan", tmp_path / "plan.json", *capture)
    finally:
        receiver.terminate()
        receiver.communicate(timeout=30)
    assert done.returncode == 0, done.stderr
    pairs = [json.loads(line) for line in (out / "pairs.jsonl").read_text().splitlines()]
    assert [pair["data"]["digest_ok"] for pair in pairs] == [True, True]
    state = json.loads((out / "run.json").read_text())
    assert (state["status"], state["receiver_half"]["status"]) == ("complete", "complete")
    assert state["vmtrace"] == state["receiver"]["vmtrace"] != "unknown"
    if not capture:
        assert (out / "packets/receiver/0002-data.pcap").stat().st_size > 1000
