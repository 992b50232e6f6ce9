"""`vmtrace storage run --tool`: any command is recorded, its connections counted, its time split; a failure is told."""

import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.in_process import vmtrace_here

CLIENT = """
import hashlib, socket, sys, time, zlib
from pathlib import Path
manner, port, *files = sys.argv[1:]
known = set()
with socket.create_connection(("127.0.0.1", int(port))) as s:
    for name in files:
        data = Path(name).read_bytes()
        if manner == "plain":
            s.sendall(data)
            continue
        for at in range(0, len(data), 4096):
            block = data[at : at + 4096]
            digest = hashlib.sha256(block).digest()
            s.sendall(digest if digest in known else zlib.compress(block))
            known.add(digest)
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    time.sleep(0.3)  # long enough to be looked at, on any machine
"""
PLAN = """
[[workload]]
files = 4
size = "100 kB"
content = "compressible"
[[workload]]
files = 4
size = "100 kB"
content = "changed"
"""


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server that takes everything, and responds with a byte when all has come."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    accepted, _ = server.accept()
                except OSError:
                    return
                with accepted:
                    while accepted.recv(1 << 16):
                        pass
                    accepted.sendall(b"x")

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def run(tmp_path: Path, command: str, *words: object) -> tuple[int, str, Path]:
    out = tmp_path / "run"
    done = vmtrace_here("storage", "run", "--tool", command, "--out", out, "--quiet", *words)
    return done.returncode, done.stderr, out


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.root
def test_a_client_that_saves_is_told_from_its_packets(tmp_path: Path, port: int) -> None:
    script, plan = tmp_path / "client.py", tmp_path / "plan.toml"
    script.write_text(CLIENT)
    plan.write_text(PLAN)
    command = f"{sys.executable} {script} clever {port} {{files}}"
    words = ("--plan", plan, "--endpoint-url", f"http://127.0.0.1:{port}")
    assert run(tmp_path, command, *words)[:2] == (0, "")
    done = vmtrace_here("storage", "report", tmp_path / "run", "--json", "-", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    (report,) = json.loads(done.stdout)["runs"]
    assert {row["content"]: row["saves"] for row in report["contents"]} == {"compressible": True, "changed": True}
    text, changed = (one["carried_ratio"] for one in report["contents"])
    assert text < 0.2
    assert 0.25 < changed < 0.45, "one of four files, and the blocks that a hundredth of new bytes touches"
    assert [row["opened"]["value"] for row in report["connections"]] == [1, 1]
    assert {row["what"] for row in report["times"]} == {"command"}
    for row in report["times"]:
        assert sum(value or 0 for value in row["shares"].values()) == pytest.approx(1)
        assert row["shares"]["transfer"] > 0
        assert row["shares"]["idle"] > 0, "Python has to start"
    assert not (tmp_path / "run/files").exists()


def test_a_command_without_files_is_run_once_and_its_log_kept(tmp_path: Path) -> None:
    words = ("--no-capture", "--interface", "lo", "--moves", "5 kB", "--direction", "download")
    status, said, out = run(tmp_path, f"{sys.executable} -c 'print(41 + 1)'", *words)
    assert (status, said) == (0, "")
    (one,) = lines(out / "transactions.jsonl")
    assert (one["workload"], one["direction"], one["bytes"], one["moved_bytes"]) == ("command", "download", 5000, 5000)
    assert one["tool"]["exit_status"] == 0
    assert (out / "tool/0001.log").read_text() == "42\n"
    assert json.loads((out / "run.json").read_text())["tool"][-1] == "print(41 + 1)"
    done = vmtrace_here("storage", "report", out, "--json", "-", "--quiet")
    assert done.returncode == 0


def test_a_command_that_fails_is_a_failed_transaction(tmp_path: Path) -> None:
    words = ("--no-capture", "--interface", "lo", "--repeat", 2)
    status, said, out = run(tmp_path, f"{sys.executable} -c 'raise SystemExit(3)'", *words)
    assert status == 1
    assert "2 of 2 commands failed, the last: " in said
    assert "exit status 3" in said
    assert [one["status"] for one in lines(out / "transactions.jsonl")] == ["failed", "failed"]


def test_a_command_that_does_not_end_is_ended(tmp_path: Path) -> None:
    words = ("--no-capture", "--interface", "lo", "--deadline", "0.3s")
    status, said, out = run(tmp_path, "sleep 600", *words)
    assert status == 1
    assert "not ended after 0.3 s" in said
    (one,) = lines(out / "transactions.jsonl")
    assert one["tool"]["exit_status"] is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--tool", "x", "--provider", "s3"], "--provider: does not go with --tool"),
        (["--tool", "'"], "--tool: No closing quotation"),
        (["--tool", ""], "--tool: expected a command"),
        (["--tool", "x", "--plan", "bocchi2014"], "--plan: goes with --tool and {files}"),
        (["--tool", "x {files}", "--moves", "1MB"], "--moves: of a --tool without {files}"),
        (["--tool", "x {files}", "--plan", "garfinkel2007-surge"], "takes benchmarks"),
        (["--provider", "s3", "--moves", "1MB"], "--moves: goes with --tool"),
        ([], "expected --provider NAME, or --tool CMD"),
    ],
)
def test_options_that_cannot_be_meant_are_wrong_usage(tmp_path: Path, words: list[str], told: str) -> None:
    done = vmtrace_here("storage", "run", "--out", tmp_path / "run", *words)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    status, said, _ = run(tmp_path, "no-such-tool-anywhere x", "--no-capture", "--interface", "lo")
    assert status == 1
    assert "no-such-tool-anywhere: No such file or directory" in said
