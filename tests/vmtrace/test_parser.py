"""What typer does for the command: help, completion and wrong usage."""

from typing import Any

import pytest


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
