"""Standard input and pipes: read as files are, and left on Ctrl-C also while nothing comes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

EMPTY = "<stdin>: the file is empty: a capture has at least a file header\n"


@contextmanager
def fed(pipe: Path, content: bytes) -> Iterator[None]:
    """Someone who writes this into a named pipe and closes it."""

    def write() -> None:
        with pipe.open("wb") as out:
            out.write(content)

    os.mkfifo(pipe)
    feeder = threading.Thread(target=write)
    feeder.start()
    try:
        yield
    finally:
        feeder.join(timeout=60)


def interrupted_when(is_ready: Any, arguments: list[str], folder: Path, **streams: Any) -> tuple[int, str]:
    """Exit status and standard error of a command that gets one Ctrl-C, a while after it has begun to wait."""
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "vmtrace", *arguments], cwd=folder, stderr=subprocess.PIPE, text=True, **streams
    )
    try:
        deadline = time.monotonic() + 30
        while not is_ready(running.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=20)
    finally:
        running.kill()
    return running.returncode, stderr


def engine_runs(process: int) -> bool:
    names = [task.joinpath("comm").read_text() for task in Path(f"/proc/{process}/task").iterdir()]
    return any(name.startswith("vmtrace-engine") for name in names)


def waits_for_a_pipe(process: int) -> bool:
    return b"vmtrace" in Path(f"/proc/{process}/cmdline").read_bytes() and (
        Path(f"/proc/{process}/wchan").read_text() in {"wait_for_partner", "pipe_read", "anon_pipe_read", "fifo_open"}
    )


@pytest.mark.parametrize("options", [[], ["--report", "page.html"], ["--csv", "out", "--connection", "1"]])
def test_a_named_pipe_is_read_as_a_file_is(vmtrace: Any, transfer: Any, tmp_path: Path, options: list[str]) -> None:
    with fed(tmp_path / "pipe", transfer.bytes()):
        done = vmtrace("analyze", "pipe", *options, "--json", "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["inputs"][0]["path"] == "pipe"
    assert document["connections"][0]["client"] == "10.0.0.1:40000"
    if "--report" in options:
        assert "10.0.0.1:40000" in (tmp_path / "page.html").read_text()
    if "--csv" in options:
        assert (tmp_path / "out/packets.csv").read_text().count("\n") == 108


def test_two_pipes_are_parts_of_one_capture_and_none_is_looked_into(
    vmtrace: Any, two_transfers: Any, transfer: Any, tmp_path: Path
) -> None:
    with fed(tmp_path / "a", transfer.bytes()), fed(tmp_path / "b", two_transfers.bytes()):
        done = vmtrace("analyze", "a", "b", "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert [one["path"] for one in json.loads(done.stdout)["inputs"]] == ["a", "b"]


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_pipe_without_anything_in_it_is_named_as_it_was_given(vmtrace: Any, tmp_path: Path, side: str) -> None:
    sample = Path(__file__).parents[2] / "samples/lossy-sender.pcap"
    captures = ["-", sample] if side == "sender" else [sample, "-"]
    done = vmtrace("compare", *captures, stdin=b"")
    assert (done.returncode, done.stderr) == (1, f"vmtrace: {EMPTY}")


def test_a_page_of_standard_input_shows_no_temporary_file(vmtrace: Any, transfer: Any, tmp_path: Path) -> None:
    done = vmtrace("analyze", "-", "--report", "page.html", "--csv", "out", stdin=transfer.bytes())
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "page.html").read_text()
    assert ".capture" not in page
    assert "/proc/" not in page
    assert json.loads((tmp_path / "out/provenance.json").read_text())["inputs"] == []


def test_nothing_is_left_of_what_could_not_be_read(vmtrace: Any, tmp_path: Path) -> None:
    (tmp_path / "aside").mkdir()
    done = vmtrace("analyze", "-", "--report", "page.html", stdin=b"these are notes", TMPDIR=str(tmp_path / "aside"))
    assert (done.returncode, done.stderr) == (1, "vmtrace: <stdin>: text, not a capture (pcap, pcapng or snoop)\n")
    assert list((tmp_path / "aside").iterdir()) == []


def test_nothing_is_left_of_standard_input_when_the_process_is_killed(transfer: Any, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as feeder, os.fdopen(reading, "rb") as silent:
        feeder.write(transfer.bytes())
        running = subprocess.Popen(
            [sys.executable, "-P", "-m", "vmtrace", "analyze", "-", "--report", "page.html"],
            stdin=silent, cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path)},
        )  # fmt: skip
        deadline = time.monotonic() + 30
        while not waits_for_a_pipe(running.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.kill()
        running.wait(timeout=20)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_nothing_comes_ends_it(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb"), os.fdopen(reading, "rb") as silent:
        status, stderr = interrupted_when(engine_runs, ["analyze", "-"], tmp_path, stdin=silent)
    assert (status, stderr) == (130, "vmtrace: interrupted\n")


def test_ctrl_c_while_nobody_writes_to_a_named_pipe_ends_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert interrupted_when(engine_runs, ["analyze", "pipe"], tmp_path) == (130, "vmtrace: interrupted\n")


@pytest.mark.parametrize("options", [[], ["--report", "page.html"]])
def test_ctrl_c_in_a_pause_of_a_pipe_keeps_what_came(transfer: Any, tmp_path: Path, options: list[str]) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as feeder, os.fdopen(reading, "rb") as silent:
        feeder.write(transfer.bytes())
        arguments = ["analyze", "-", "--json", "out.json", *options]
        ready = waits_for_a_pipe if options else engine_runs
        status, stderr = interrupted_when(ready, arguments, tmp_path, stdin=silent)
    assert status == 130
    assert stderr.endswith("vmtrace: interrupted: the results cover the part that was read\n")
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["interrupted"] is True
    assert document["connections"][0]["client"] == "10.0.0.1:40000"
