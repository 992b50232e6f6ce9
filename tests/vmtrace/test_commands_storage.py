"""`vmtrace storage run` and `clean`, as a person calls them: statuses, lines, Ctrl-C, and a crash."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.in_process import vmtrace_here
from vmtrace.lab.services.service import Service as Server

PLAN = """
repeat = 3
[[workload]]
name = "some"
files = 3
size = "20 kB"
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return str(path)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "vmtrace", "storage", *map(str, words)]


def state_of(run: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((run / "run.json").read_text())
    return state


def is_there(run: Path) -> bool:
    """Whether the container of a run is at the service."""
    client = boto3.session.Session().client("s3")
    names = [one["Name"] for one in client.list_buckets()["Buckets"]]
    client.close()
    return state_of(run)["container"] in names


def test_a_run_ends_with_status_0_and_its_record(
    swift_service: Server, client_of: Callable[[Server], None], plan: str, tmp_path: Path
) -> None:
    client_of(swift_service)
    words = ["run", "--provider", "s3", "--out", tmp_path / "run", "--plan", plan, "--repeat", 1, "--no-capture"]
    done = subprocess.run(command(*words, "--json"), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    state = json.loads(done.stdout)
    assert (state["status"], state["transactions_finished"]) == ("complete", 2)
    assert "test" not in state["command"].replace(str(tmp_path), "")
    assert "[2/2] some download 1, 3 of 3 files" in done.stderr
    assert not is_there(tmp_path / "run")


def begun(words: list[Any], out: Path) -> subprocess.Popen[str]:
    """A run that has finished its first transaction."""
    running = subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ends_s = time.monotonic() + 60
    log = out / "transactions.jsonl"
    while not (log.exists() and log.read_text().count("\n") >= 1):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < ends_s
        time.sleep(0.05)
    return running


def test_ctrl_c_leaves_nothing_and_what_was_killed_is_cleaned(
    swift_service: Server, client_of: Callable[[Server], None], plan: str, tmp_path: Path
) -> None:
    client_of(swift_service)
    waiting = tmp_path / "waiting.toml"
    waiting.write_text(f"wait = '1h'\n{PLAN}")
    words = ["run", "--provider", "s3", "--plan", waiting, "--no-capture", "--interface", "any", "--quiet", "--out"]

    running = begun([*words, tmp_path / "one"], tmp_path / "one")
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=60)
    assert (running.returncode, shown.splitlines()[0]) == (130, "vmtrace: interrupted")
    if "left at the service" in shown:  # a busy machine has no time left for it within 5 s: it says so
        subprocess.run(command("clean", tmp_path / "one"), check=True, capture_output=True)
    assert state_of(tmp_path / "one")["status"] == "interrupted"
    assert not is_there(tmp_path / "one")

    running = begun([*words, tmp_path / "two"], tmp_path / "two")
    running.kill()
    running.communicate(timeout=60)
    assert is_there(tmp_path / "two")
    done = subprocess.run(command("clean", tmp_path / "two"), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 objects removed, and vmtrace-" in done.stdout
    assert not is_there(tmp_path / "two")


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["run", "--provider", "s4"], 2, "--provider s4: there are azure-blob, glacier, s3, swift"),
        (["run", "--provider", "s3", "--plan", "none.toml"], 2, "plan none.toml: No such file"),
        (["run", "--provider", "s3", "--workload", "2MB"], 2, "--workload 2MB: not a workload of plan bocchi2014"),
        (["run", "--provider", "s3", "--scale", "0"], 2, "--scale: '0': expected a number above 0"),
        (["run", "--provider", "s3", "--scale", "x"], 2, "--scale: could not convert"),
        (["run", "--provider", "s3", "--repeat", "0"], 2, "--repeat: expected a whole number from 1"),
        (["run", "--provider", "s3", "--max-bytes", "much"], 2, "--max-bytes: 'much' is not a size"),
        (["run", "--provider", "s3", "--max-cost", "1"], 2, "--max-cost: charges are unknown without a table"),
        (["run", "--provider", "s3", "--prices", "none.toml"], 2, "prices none.toml: No such file"),
        (["run", "--provider", "s3", "--create-bucket"], 2, "--create-bucket: goes with --bucket"),
        (["run", "--provider", "s3", "--no-capture", "--snaplen", "9"], 2, "--no-capture: goes neither"),
        (["run", "--provider", "s3", "--ca-bundle", "none.pem"], 2, "--ca-bundle none.pem: there is no such file"),
        (["run", "--provider", "s3", "--endpoint-url", "host:80"], 2, "--endpoint-url host:80: expected a URL"),
        (["run", "--provider", "s3", "--endpoint-url", "https://h:99999"], 2, "--endpoint-url https://h:99999: Port"),
        (["run", "--provider", "s3", "--endpoint-url", "http://u:p@h"], 2, "--endpoint-url: leave credentials and"),
        (
            ["run", "--provider", "azure", "--endpoint-url", "https://h/?sig=x"],
            2,
            "--endpoint-url: leave credentials and",
        ),
        (["run", "--provider", "s3", "--option", "tier=Hot"], 2, "--option tier: not of s3, which has: storage_class"),
        (["run", "--provider", "s3", "--option", "x"], 2, "--option x: expected NAME=VALUE"),
        (["run", "--provider", "swift", "--no-capture"], 1, "swift: no authentication URL: neither ST_AUTH nor"),
        (["run", "--provider", "azure", "--no-capture"], 1, "azure: neither AZURE_STORAGE_CONNECTION_STRING nor"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    words: list[str], status: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "ST_", "OS_")):
            monkeypatch.delenv(name)
    done = vmtrace_here("storage", *words, "--out", tmp_path / "run", folder=tmp_path)
    assert done.returncode == status
    assert done.stderr.startswith(f"vmtrace: {text}")
    assert done.stderr.count("\n") == 1


def test_cleaning_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    done = vmtrace_here("storage", "clean", tmp_path)
    assert (done.returncode, done.stderr) == (1, f"vmtrace: {tmp_path}: no run is there (no run.json)\n")


def test_a_report_on_a_damaged_folder_says_what_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": "vmtrace.storage_run/1", "status": "complete"}')
    (tmp_path / "transactions.jsonl").write_text("garbage\n")
    done = vmtrace_here("storage", "report", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"vmtrace: {tmp_path}: no finished transaction (the run is complete: transactions.")
    assert done.stderr.count("\n") == 1
