"""The command line itself: help, version, completion and wrong usage."""

from typing import Any

import pytest

import vmtrace as package


def test_the_version_is_told(vmtrace: Any) -> None:
    done = vmtrace("--version")
    assert (done.returncode, done.stdout) == (0, f"vmtrace {package.__version__}\n")


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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["analyze", "--nope", "x"], "No such option"),
        (["nope"], "No such command"),
        (["analyze", "x", "--threads", "many"], "--threads"),
        (["analyze", "x", "--by", "colour"], "--by"),
        (["analyze", "x", "--limit", "0"], "--limit"),
        (["analyze", "x", "--oversize-abs", "0"], "--oversize-abs"),
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


def test_the_names_for_a_notebook() -> None:
    assert package.__all__ == ["Options", "Trace", "TraceError", "read"]
    assert all(hasattr(package, name) for name in package.__all__)
