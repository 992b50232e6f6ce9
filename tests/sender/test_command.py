"""The command line of `send`: spellings, wrong usage, and what `--resume` needs not be told again."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vmtrace.sender.command import build_parser, check_same_plan, run
from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan import Plan
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.settings import Settings
from vmtrace.sender.wire.errors import ReceiverGone

NewRun = Callable[..., RunFolder]
ROOT = Path(__file__).parents[2]


def go(*words: str | Path) -> int:
    return run(build_parser().parse_args([str(word) for word in words]))


def test_a_plan_is_shown_without_connecting(capsys: pytest.CaptureFixture[str]) -> None:
    assert go("--show-plan", "--scale", "0.1", "--repeat", "4") == 0
    assert "120 pairs in 4 rounds" in capsys.readouterr().out
    assert go("--show-plan", "--json", "--for", "18h", "--ipv6", "--bind", "eth1") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["plan"]["repeat"], document["plan"]["duration_s"]) == (None, 64_800)
    assert (document["plan"]["ip_version"], document["plan"]["bind_interface"]) == (6, "eth1")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--out", "r"], "name the receiver"),
        (["host"], "name a folder for the run"),
        (["--resume"], "--resume: name the folder"),
        (["host", "--resume", "a", "--out", "b"], "--resume a and --out b name two folders"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert go(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"vmtrace: {line}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--repeat", "1", "--for", "1h"],
        ["--repeat", "0"],
        ["--repeat", "x"],
        ["--scale", "0"],
        ["--scale", "nan"],
        ["--for", "soon"],
        ["--for", "0"],
        ["--port", "70000"],
        ["--ipv4", "--ipv6"],
        ["--interface", "lo", "--no-capture"],
        ["--snaplen", "0"],
        ["--buffer-bytes", "5 TB"],
        ["--stall-timeout", "0"],
        ["--quiet", "--json-lines"],
    ],
)
def test_nonsense_is_refused_by_the_parser(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args(["host", *words])
    assert caught.value.code == 2
    assert "Error" not in capsys.readouterr().err


def test_a_plan_that_scale_makes_absurd_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('entries = [{probe = 1, data = "1 TiB"}]')
    with pytest.raises(SenderError, match=r"entries\[0\]\.data\.bytes: expected a whole number from 1 to"):
        go("--show-plan", "--scale", "1e6", "--plan", file)


def test_what_is_said_of_the_plan_when_going_on_must_be_so(plan: Plan, tmp_path: Path) -> None:
    def check(*words: str) -> None:
        check_same_plan(build_parser().parse_args(list(words)), plan)

    check()
    check("--repeat", "1", "--scale", "1")
    file = tmp_path / "p.json"
    from vmtrace.sender.plan_record import plan_record

    record = plan_record(plan)
    del record["scale"]
    file.write_text(json.dumps(record))
    check("--plan", str(file))
    for words, line in (
        (["--scale", "0.5"], "--scale 0.5: the run has scale 1"),
        (["--plan", "lee2011"], "--plan lee2011: the run has another plan"),
        (["--repeat", "7"], "--repeat 7: the run has 1 rounds"),
        (["--for", "1h"], "--for: the run has 1 rounds"),
    ):
        with pytest.raises(SenderError, match=line):
            check(*words)


def test_going_on_remembers_settings_and_where_the_receiver_was(
    new_run: NewRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_run(settings=Settings(capture=False, patience_s=7.0))
    folder.note(receiver={"name": "198.18.2.1", "port": 6000})
    folder.close()
    key = tmp_path / "key"
    key.write_text("0" * 64)
    key.chmod(0o600)
    seen = []

    def send(folder: RunFolder, order: object, *_rest: object) -> int:
        seen.append((folder.settings, order))
        return 0

    monkeypatch.setattr("vmtrace.sender.command.send", send)
    words: tuple[tuple[str | Path, ...], ...] = (
        ("--resume", folder.path),
        ("--out", folder.path, "--resume"),
        ("198.18.2.9", "--resume", folder.path),
    )
    for spelling in words:
        assert go(*spelling, "--key-file", key, "--attempts", "2") == 0
    assert go("--out", folder.path, "--key-file", key, "--resume", "198.18.2.9") == 0
    endpoints = [order.endpoint for _, order in seen]  # type: ignore[attr-defined]
    assert [str(endpoint) for endpoint in endpoints] == ["198.18.2.1:6000"] * 2 + ["198.18.2.9:6000"] * 2
    settings = seen[0][0]
    assert (settings.capture, settings.patience_s, settings.attempts) == (False, 7.0, 2)
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_going_on_waits_for_a_receiver_that_is_away_as_long_as_patience_says(
    new_run: NewRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As long as is said now, not when the run began."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nothing listens there
        folder = new_run(settings=Settings(capture=False, host_counters=False, ping=False, patience_s=5.0))
        folder.note(receiver={"name": "127.0.0.1", "port": taken.getsockname()[1]})
        folder.close()
        key = tmp_path / "key"
        key.write_text("0" * 64)
        key.chmod(0o600)
        began_s = time.monotonic()
        with pytest.raises(ReceiverGone):
            go("--resume", folder.path, "--key-file", key, "--patience", "1500ms")
    assert time.monotonic() - began_s >= 1.5
    assert capfd.readouterr().err.count("; trying again in ") == 2  # after 1 s, and what is left
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_a_run_that_never_reached_its_receiver_must_be_told_where_it_is(new_run: NewRun) -> None:
    folder = new_run()
    folder.close()
    with pytest.raises(SenderError, match="the receiver was never reached in this run: name it"):
        go("--resume", folder.path)
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_a_folder_that_is_not_empty_is_refused_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(SenderError, match="there is something in this folder"):
        go("host", "--out", tmp_path)


def test_the_key_is_never_on_the_command_line() -> None:
    text = build_parser().format_help()
    assert "--key-file FILE" in text
    assert "VMTRACE_KEY" in text
    assert "--key " not in text


def test_it_runs_as_a_module() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "vmtrace.sender", "--show-plan"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "plan lee2011" in done.stdout
