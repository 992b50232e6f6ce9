"""Stores that keep nobody's time: each call has its deadline, a first signal ends within 5 s, a second one at once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.providers.hostile_store import HostileStore, started
from vmtrace.providers.cleaning import clean_run
from vmtrace.providers.journal import Journal
from vmtrace.providers.run_folder import RunFolder

PLAN = """
repeat = 1
[[workload]]
name = "some"
files = 2
size = "20 kB"
"""
ENDS_WITHIN_S = 8.0
"""The promise is 5 s; the rest is for a busy machine. Without an end it would be minutes."""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostileStore]:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    with started(HostileStore()) as one:
        for name, value in one.environment().items():
            monkeypatch.setenv(name, value)
        yield one


def begun(out: Path, *words: str) -> "subprocess.Popen[str]":
    plan = out.with_suffix(".toml")
    plan.write_text(PLAN)
    command = [sys.executable, "-m", "vmtrace", "storage", "run", "--provider", "s3", "--out", str(out)]
    more = ["--plan", str(plan), "--no-capture", "--interface", "any", "--quiet", *words]
    return subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def awaited(running: "subprocess.Popen[str]", is_so: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + 60
    while not is_so():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < ends_s
        time.sleep(0.02)


def state_of(out: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((out / "run.json").read_text())
    return state


@pytest.mark.parametrize(("number", "threads"), [(signal.SIGINT, "1"), (signal.SIGTERM, "10")])
def test_a_first_signal_ends_a_dripping_download_with_what_was_measured(
    store: HostileStore, tmp_path: Path, number: int, threads: str
) -> None:
    store.drips_bodies = True
    out = tmp_path / "run"
    running = begun(out, "--option", f"concurrency={threads}")
    awaited(running, store.dripping.is_set)
    running.send_signal(number)
    began_s = time.monotonic()
    _, shown = running.communicate(timeout=60)
    assert time.monotonic() - began_s < ENDS_WITHIN_S
    assert (running.returncode, shown) == (130, "vmtrace: interrupted\n")
    state = state_of(out)
    assert (state["status"], state["transactions_finished"], state["left_behind"]) == ("interrupted", 2, [])
    assert len((out / "objects.jsonl").read_text().splitlines()) == 3  # two uploads, and the download that broke off
    assert store.objects == {}
    assert store.buckets == set()


def test_a_second_signal_ends_at_once_and_says_how_to_clean(store: HostileStore, tmp_path: Path) -> None:
    store.drips_bodies, store.refuses_deletes = True, 503
    out = tmp_path / "run"
    running = begun(out)
    awaited(running, store.dripping.is_set)
    running.send_signal(signal.SIGINT)
    awaited(running, lambda: any("delete" in one for one in store.asked))
    running.send_signal(signal.SIGINT)
    began_s = time.monotonic()
    _, shown = running.communicate(timeout=60)
    assert time.monotonic() - began_s < ENDS_WITHIN_S - 1
    assert running.returncode == 130
    assert shown == f"vmtrace: stopped immediately: vmtrace storage clean {out} removes what is left at s3\n"
    state = state_of(out)
    assert (state["status"], len(state["left_behind"])) == ("interrupted", 3)


@pytest.mark.parametrize("fault", [{"refuses_deletes": 503}, {"endless_listing": True}])
def test_a_store_that_will_not_be_cleaned_is_left_in_time(
    store: HostileStore, tmp_path: Path, fault: dict[str, Any]
) -> None:
    store.drips_bodies = True
    out = tmp_path / "run"
    running = begun(out)
    awaited(running, store.dripping.is_set)
    for name, value in fault.items():
        setattr(store, name, value)
    running.send_signal(signal.SIGTERM)
    began_s = time.monotonic()
    _, shown = running.communicate(timeout=60)
    assert time.monotonic() - began_s < ENDS_WITHIN_S
    assert running.returncode == 130
    assert shown.startswith("vmtrace: interrupted\nvmtrace: s3: left at the service: vmtrace-")
    assert shown.endswith(f"run vmtrace storage clean {out}\n")
    assert {one["name"] for one in state_of(out)["left_behind"]} >= {one.partition("/")[2] for one in store.objects}
    for name in fault:
        setattr(store, name, False)
    assert clean_run(out).left_behind == []
    assert (store.objects, store.buckets) == ({}, set())


def test_a_dripping_download_is_over_at_its_deadline(store: HostileStore, tmp_path: Path) -> None:
    store.drips_bodies = True
    out = tmp_path / "run"
    began_s = time.monotonic()
    running = begun(out, "--deadline", "1s")
    _, shown = running.communicate(timeout=60)
    assert time.monotonic() - began_s < 20
    assert running.returncode == 1
    assert "no end within 3 s" in shown  # 1 s, and 2 s for 20 kB
    lines = [json.loads(line) for line in (out / "objects.jsonl").read_text().splitlines()]
    assert [one["outcome"] for one in lines] == ["done", "done", "failed"]
    assert lines[-1]["error_kind"] == "endpoint_gone"
    assert store.objects == {}


@pytest.fixture
def killed(store: HostileStore, tmp_path: Path) -> Path:
    """A run that was killed: its journal knows of four objects, and the store has three of them."""
    path = tmp_path / "killed"
    state = {"id": "f00", "provider": "s3", "container": "box", "status": "running", "options": {}}
    folder = RunFolder.create(path, state)
    names = [f"vmtrace-f00/0001/{number}" for number in range(4)]
    with Journal(path) as journal:
        journal.creating_container("box")
        journal.creating(names)
    folder.close()
    store.buckets.add("box")
    store.objects.update({f"box/{name}": b"x" for name in names[:3]})
    return path


def test_clean_counts_what_was_there(store: HostileStore, killed: Path) -> None:
    cleaned = clean_run(killed)
    assert (cleaned.objects, cleaned.container, cleaned.left_behind) == (3, "box", [])
    assert store.objects == {}


def test_clean_counts_what_went_where_not_all_did(store: HostileStore, killed: Path) -> None:
    store.deletes_only_first = True
    cleaned = clean_run(killed)
    assert (cleaned.objects, cleaned.container) == (1, None)
    assert len(store.objects) == 2
    assert [one["name"] for one in cleaned.left_behind] == [*(one.partition("/")[2] for one in store.objects),
                                                            "vmtrace-f00/0001/3", "box"]  # fmt: skip


@pytest.mark.parametrize("fault", ["drips_listings", "endless_listing"])
def test_cleaning_is_over_at_its_deadline(store: HostileStore, killed: Path, fault: str) -> None:
    setattr(store, fault, True)
    began_s = time.monotonic()
    cleaned = clean_run(killed, call_s=1.0)
    assert time.monotonic() - began_s < 15
    assert cleaned.objects == 0
    assert cleaned.left_behind[0]["error"] == "no end within 4 s"  # 1 s, and 1 s for each further object
