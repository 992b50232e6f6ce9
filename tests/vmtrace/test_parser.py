"""What typer does for the command: help, completion and wrong usage."""

import os
import subprocess
import sys
from contextlib import nullcontext
from typing import Any

import pytest

from vmtrace import parser
from vmtrace.errors import Exit


def test_help_names_the_options_that_scripts_rely_on(vmtrace: Any) -> None:
    done = vmtrace("analyze", "--help", COLUMNS="200")
    assert done.returncode == 0
    for option in (
        "--json",
        "--csv",
        "--parquet",
        "--report",
        "--figures",
        "--filter",
        "--connection",
        "--by",
        "--fail-if",
    ):
        assert option in done.stdout


def test_completion_can_be_installed(vmtrace: Any) -> None:
    assert "--install-completion" in vmtrace("--help").stdout


def test_the_shell_completes_options(vmtrace: Any) -> None:
    done = vmtrace(_VMTRACE_COMPLETE="complete_bash", COMP_WORDS="vmtrace analyze --js", COMP_CWORD="2")
    assert done.stdout.split() == ["--json"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["analyze", "--nope", "x"], "No such option"),
        (["nope"], "No such command"),
        (["analyze", "x", "--threads", "many"], "--threads"),
        (["analyze", "x", "--by", "colour"], "--by"),
        (["analyze", "x", "--limit", "0"], "--limit"),
        (["analyze", "x", "--oversize-abs", "0"], "--oversize-abs"),
        (["compare", "x", "y", "--oversize-abs", "0"], "--oversize-abs"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(vmtrace: Any, arguments: list[str], text: str) -> None:
    done = vmtrace(*arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stderr.startswith("vmtrace: ")
    assert done.stderr.count("\n") == 1


def test_no_arguments_print_the_help(vmtrace: Any) -> None:
    for arguments in ([], ["analyze"]):
        done = vmtrace(*arguments)
        assert done.returncode == 2
        assert "Usage: vmtrace" in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["analyze", "--help"], ["storage", "run", "--help"], ["--version"]])
def test_a_reader_of_the_help_who_has_had_enough_ends_it_quietly(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [sys.executable, "-P", "-m", "vmtrace", *arguments]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_is_told_of_whatever_typer_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, raised in ((130, True), (Exit.INTERRUPTED, False)):
        monkeypatch.setattr(parser, "_register_rooms", lambda _arguments: None)
        monkeypatch.setattr(parser, "app", lambda *_arguments, status=status, **_options: status)
        with pytest.raises(KeyboardInterrupt) if raised else nullcontext():
            assert parser.run(["analyze"]) == Exit.INTERRUPTED
