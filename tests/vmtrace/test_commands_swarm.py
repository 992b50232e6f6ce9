"""`vmtrace swarm run`, `seed` and `report`, as a person calls them: statuses, lines, Ctrl-C, and what must not leak."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.in_process import vmtrace_here
from tests.providers.swarm_made import Behaviour, web_server
from vmtrace import command_line
from vmtrace.errors import CommandError, UsageError
from vmtrace.lab.services.process import free_ports
from vmtrace.providers.swarm.torrent import made_torrent, write_torrent

SIZE_BYTES = 2_000_000
SECRET = "X-Amz-Signature=abcdef"


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "vmtrace", "swarm", *map(str, words)]


def called(*words: object) -> "subprocess.CompletedProcess[str]":
    return vmtrace_here("swarm", *words)


def state_of(run: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((run / "run.json").read_text())
    return state


def here(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """The same in this process: status, and what stands on standard error or in the error that ends the command."""
    try:
        status = command_line.run(["swarm", *map(str, words)])
    except UsageError as error:
        return 2, str(error)
    except CommandError as error:
        return 1, f"{error}\n{capsys.readouterr().err}"
    return status, capsys.readouterr().err


@pytest.fixture
def torrent(tmp_path: Path) -> Path:
    (tmp_path / "data.bin").write_bytes(os.urandom(SIZE_BYTES))
    write_torrent(made_torrent(tmp_path / "data.bin"), tmp_path / "data.torrent")
    return tmp_path / "data.torrent"


@pytest.fixture
def peer(torrent: Path, tmp_path: Path) -> Iterator[str]:
    """A seed of the torrent that is ready, by address."""
    port = _port()
    words = command(
        "seed", tmp_path / "data.bin", "--torrent", torrent, "--bind", "127.0.0.1", "--port", port, "--rate", "1MB"
    )
    sharing = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert sharing.stderr is not None
    assert "seeding data.bin" in sharing.stderr.readline()
    yield f"127.0.0.1:{port}"
    sharing.send_signal(signal.SIGINT)
    out, _ = sharing.communicate(timeout=30)
    assert sharing.returncode == 0
    assert "uploaded" in out


def _port() -> int:
    return free_ports("127.0.0.1", 1)[0]


@pytest.mark.slow
def test_a_run_is_measured_and_reported(torrent: Path, peer: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ["run", torrent, "--peers", peer, "--seeds", "1", "--repeat", "1", "--capacity-time", "1s", "--no-capture"]
    done = called(*words, "--out", run)
    assert done.returncode == 0, done.stderr
    assert "1 seed, web seed none: finished" in done.stderr
    state = state_of(run)
    assert (state["status"], state["downloads_finished"], state["error"]) == ("complete", 2, None)
    assert not (run / "files").exists()
    assert (run / "run.json").stat().st_mode & 0o777 == 0o600
    report = called("report", run, "--json", "-", "--prices", "bocchi2014")
    assert report.returncode == 0, report.stderr
    document = json.loads(report.stdout)
    assert [row["status"] for row in document["runs"]] == ["finished"]
    assert document["runs"][0]["sources"][0]["bytes_by_client"] == SIZE_BYTES
    shown = called("report", run)
    assert shown.returncode == 0
    assert "Time and share against the number of seeds" in shown.stdout
    assert (run / "report.html").exists()


@pytest.mark.slow
def test_ctrl_c_leaves_what_was_measured(torrent: Path, peer: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ["run", torrent, "--peers", peer, "--seeds", "1", "--repeat", "50", "--no-capture", "--no-capacity"]
    running = subprocess.Popen(command(*words, "--out", run), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while "finished" not in running.stderr.readline():
        assert running.poll() is None
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert "Traceback" not in errors
    assert state_of(run)["status"] == "interrupted"
    assert not (run / "files").exists()
    report = called("report", run, "--json", "-")
    assert report.returncode == 0, report.stderr
    assert json.loads(report.stdout)["runs"][0]["status"] == "finished"


def test_a_port_in_use_is_one_line(torrent: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = called("seed", tmp_path / "data.bin", "--torrent", torrent, "--bind", "127.0.0.1", "--port", port)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        f"vmtrace: port {port} at 127.0.0.1: Address already in use: name another with --port or --bind"
    )


def test_a_file_that_is_not_the_torrents_is_not_shared(
    torrent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content, why in (
        (os.urandom(SIZE_BYTES), "pieces are not the torrent's"),
        (b"x", "1 bytes, but the torrent's"),
    ):
        (tmp_path / "data.bin").write_bytes(content)
        status, said = here(capsys, "seed", tmp_path / "data.bin", "--torrent", torrent, "--port", _port())
        assert (status, why in said) == (1, True), said
        assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["--seeds", "two"], 2, "--seeds two: expected whole numbers"),
        (["--seeds", "0"], 2, "nothing delivers without seeds"),
        (["--peers", "here"], 2, "--peers here: expected ADDRESS:PORT"),
        (["--case", "public"], 2, "--case public: name the object with --web-seed"),
        (["--case", "forbidden"], 2, "--case forbidden: name the object"),
        (["--forbidden-url", "http://h/x"], 2, "--forbidden-url: goes with --case forbidden"),
        (["--web-seed", "ftp://h/x"], 2, "expected a URL with http://, https:// or s3://"),
        (["--repeat", "0"], 2, "--repeat 0: expected a whole number"),
        (["--timeout", "0s"], 2, "--timeout 0s: expected a time above 0"),
        (["--stall", "soon"], 2, "--stall: 'soon' is not a duration"),
        (["--web-request", "1B"], 2, "--web-request: '1B': expected 16KiB"),
        (["--sha256", "abc"], 2, "--sha256: expected 64 hexadecimal digits"),
        (["--ca-bundle", "absent.pem"], 2, "--ca-bundle absent.pem: there is no such file"),
        (["--snaplen", "100"], 2, "--no-capture: does not go with --snaplen"),
        ([], 1, "the torrent names no tracker: give --tracker URL, or seeds with --peers"),
        (["--peers", "127.0.0.1:1"], 1, "seed 127.0.0.1:1: it accepts no connection: left out"),
        (["--web-seed", "http://127.0.0.1:1/x", "--peers", "127.0.0.1:1"], 1, "the connection failed"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_says_why(
    torrent: Path, tmp_path: Path, words: list[str], status: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, said = here(capsys, "run", torrent, "--out", tmp_path / "run", "--no-capture", *words)
    assert (found, why in said) == (status, True), said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("content", [b"", b"d4:infod", b"\x00" * 100])
def test_what_is_no_torrent_is_one_line(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.torrent").write_bytes(content)
    status, said = here(capsys, "run", tmp_path / "data.torrent", "--out", tmp_path / "run", "--no-capture")
    assert status == 1
    assert "not a torrent file" in said
    assert len(said.strip().splitlines()) == 1


def test_a_signature_is_in_no_file_and_in_no_message(torrent: Path, peer: str, tmp_path: Path) -> None:
    content = (tmp_path / "data.bin").read_bytes()
    with web_server(Behaviour(content)) as url:
        words = ["run", torrent, "--peers", peer, "--web-seed", f"{url}?{SECRET}", "--seeds", "0,1", "--repeat", "1"]
        done = called(*words, "--no-capture", "--no-capacity", "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(files) >= 3
    for text in [done.stdout, done.stderr, *(path.read_text(errors="replace") for path in files)]:
        assert "abcdef" not in text
    assert state_of(tmp_path / "run")["web_seed"] == url


def test_a_web_seed_that_is_not_as_the_case_says_ends_the_run(
    torrent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with web_server(Behaviour(b"", status=403)) as url:
        words = ["run", torrent, "--web-seed", url, "--seeds", "0", "--no-capture", "--out", tmp_path / "run"]
        status, said = here(capsys, *words)
    assert status == 1
    assert "HTTP 403, so it is forbidden, not public: sign the URL again" in said


def test_without_libtorrent_it_says_what_to_install(torrent: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "libtorrent.py").write_text("raise ModuleNotFoundError('libtorrent')")
    env = {**os.environ, "PYTHONPATH": str(hidden)}
    words = command("run", torrent, "--out", tmp_path / "run", "--no-capture")
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 1
    assert re.fullmatch(r"vmtrace: libtorrent is not installed: \S+ -m pip install 'libtorrent>=2.1,<3'\n", done.stderr)


def test_prices_that_are_not_there_are_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--prices", "none"], ["--prices", "bocchi2014", "--provider", "nobody"]):
        status, said = here(capsys, "report", tmp_path, *words)
        assert (status, "--prices" in said) == (2, True), said


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here(capsys, "report", tmp_path) == (1, f"vmtrace: {tmp_path}: not a run folder (it has no run.json)\n")
