from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.receiver.harness import transfer
from vmtrace.receiver import command
from vmtrace.receiver.command import build_parser, settings_of
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.keys import load_key
from vmtrace.sender.wire.records import RunRequest, TransferRequest

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def started(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "vmtrace.receiver", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=ENVIRONMENT,
    )  # fmt: skip


def ran(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vmtrace.receiver", *words],
        capture_output=True, text=True, cwd=cwd, env=ENVIRONMENT, timeout=30, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_it_makes_a_key_says_where_it_listens_serves_and_ends_by_ctrl_c(tmp_path: Path, number: int) -> None:
    words = (
        "--key-file",
        "key",
        "--bind",
        "127.0.0.1",
        "--port",
        "0",
        "--no-capture",
        "--no-host-counters",
        "--json-lines",
    )
    with started(*words, cwd=tmp_path) as program:
        assert program.stdout is not None
        events = [json.loads(program.stdout.readline()) for _ in range(2)]
        assert [event["event"] for event in events] == ["new_key", "listening"]
        key = load_key(str(tmp_path / "key"))
        assert key.hex() not in json.dumps(events)
        control = Control.connect(Endpoint("127.0.0.1", events[1]["port"]), key, 5)
        control.open_run(RunRequest())
        _, far = transfer(control, TransferRequest(1, 1, "data", 1000))
        assert far.error is None
        control.close()
        program.send_signal(number)
        try:
            out, err = program.communicate(timeout=15)
        finally:
            program.kill()
    assert program.returncode == 0
    assert err.count("\n") == 1
    assert "made a new key in key: copy this file" in err
    assert key.hex() not in err + out
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["run", "transfer", "session_end"]
    assert (tmp_path / "vmtrace-receiver").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        ((), 1, "vmtrace: no key: give --key-file FILE, or set VMTRACE_KEY"),
        (("--port", "x"), 2, "x: expected a whole number from 0 to 65535"),
        (("--port", "65536"), 2, "65536: expected a whole number from 0 to 65535"),
        (("--max-streams", "0"), 2, "0: expected a whole number from 1 to 1024"),
        (("--max-streams", "5000"), 2, "5000: expected a whole number from 1 to 1024"),
        (("--max-sessions", "-1"), 2, "expected one argument|a whole number from 1"),
        (("--interface", "a", "--no-capture"), 2, "not allowed with argument"),
        (
            ("--key-file", "key", "--bind", "198.18.99.99"),
            1,
            "vmtrace: cannot listen on 198.18.99.99: not an address of this host",
        ),
        (("--key-file", "key", "--certificate", "absent.pem"), 1, "vmtrace: absent.pem: no certificate with its key"),
        (("--key-file", "key", "--out", "file"), 1, "vmtrace: file: "),
        (("--key-file", "no/such/key"), 1, "vmtrace: no/such/key: No such file or directory"),
        (("--key-file", "short"), 1, "vmtrace: short: not a key"),
        (("--key-file", "key", "--interface", "nosuch0"), 1, "vmtrace: there is no interface nosuch0"),
    ],
)
def test_trouble_is_one_clear_line(words: tuple[str, ...], status: int, line: str, tmp_path: Path) -> None:
    import re

    (tmp_path / "file").write_text("")
    (tmp_path / "short").write_text("short")
    (tmp_path / "short").chmod(0o600)
    (tmp_path / "key").write_text("a" * 64)
    (tmp_path / "key").chmod(0o600)
    done = ran(*words, cwd=tmp_path)
    assert done.returncode == status
    assert re.search(line, done.stderr)
    assert "Traceback" not in done.stderr
    if status == 1:
        assert done.stderr.count("\n") == 1


def test_a_metadata_setting_that_makes_no_sense_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "VMTRACE_METADATA", "yes")
    done = ran("--key-file", "key", "--port", "0", "--no-capture", cwd=tmp_path)
    assert done.returncode == 1
    assert "vmtrace: VMTRACE_METADATA=yes: must be never, force" in done.stderr


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    import socket

    (tmp_path / "key").write_text("a" * 64)
    (tmp_path / "key").chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = ran("--key-file", "key", "--bind", "127.0.0.1", "--port", port, cwd=tmp_path)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"vmtrace: 127.0.0.1, port {port}: taken by another program: choose another --port, or end that program\n"
    )


def test_every_limit_has_its_option() -> None:
    words = [
        "--max-sessions", "2", "--max-streams", "3", "--max-transfer-bytes", "4", "--max-session-bytes", "5",
        "--max-transfer-time", "6", "--max-session-time", "7", "--max-connection-rate", "8", "--no-capture",
    ]  # fmt: skip
    settings = settings_of(build_parser().parse_args(words))
    assert settings.sessions == 2
    assert settings.limits.streams == 3
    assert (settings.limits.transfer_bytes, settings.limits.session_bytes) == (4, 5)
    assert (settings.limits.transfer_s, settings.limits.session_s) == (6, 7)
    assert settings.admission.connections_per_s == 8
    assert not settings.capture


@pytest.mark.parametrize("flag", ["--max-sessions", "--max-transfer-bytes", "--max-connection-rate"])
def test_limits_are_whole_numbers_that_a_system_can_count(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (1, 2**63 - 1):
        assert vars(build_parser().parse_args([flag, str(value)]))[flag[2:].replace("-", "_")] == value
    for value in (0, 2**63):
        with pytest.raises(SystemExit):
            build_parser().parse_args([flag, str(value)])
    assert f"{2**63}: expected a whole number from 1 to {2**63 - 1}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "missing", "warned"),
    [((), "no right", True), ((), None, False), (("--no-capture",), "no right", False)],
)
def test_who_cannot_record_is_told_at_the_start_unless_that_is_meant(
    words: tuple[str, ...], missing: str | None, warned: bool,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    served = SimpleNamespace(address="it", port=1, serve=lambda: None)
    monkeypatch.setattr(command, "Server", lambda *_: served)
    monkeypatch.setattr(command, "_stop_on_signals", lambda _: None)
    monkeypatch.setattr(command, "open_files", lambda **_: None)
    monkeypatch.setattr(command, "missing_rights", lambda: missing)
    assert (
        command.run(build_parser().parse_args(["--key-file", f"{tmp_path}/key", "--out", str(tmp_path), *words])) == 0
    )
    shown = capsys.readouterr()
    assert ("transfers will not be recorded here: no right; --no-capture goes on" in shown.err) == warned
    assert "listening on it" in shown.out


def test_help_has_examples_and_never_asks_for_the_key_itself() -> None:
    parser = build_parser()
    assert "examples:" in parser.format_help()
    options = [option for action in parser._actions for option in action.option_strings]
    assert "--key" not in options
    assert isinstance(parser, argparse.ArgumentParser)
