"""Subcommands of other rooms: parsed by argparse, told of by typer, and none of it loaded before it is asked for."""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmtrace.commands import rooms
from vmtrace.errors import UsageError

# Those that every checkout has; the list of commands itself imports nothing.
NAMES = ("capture", "receive", "send", "fetch", "agent", "cost")


@pytest.mark.parametrize("name", NAMES)
def test_help_has_the_look_of_the_others_and_examples(vmtrace: Any, name: str) -> None:
    done = vmtrace(name, "--help", COLUMNS="120")
    assert done.returncode == 0, done.stderr
    assert f"Usage: vmtrace {name}" in done.stdout
    assert f"vmtrace {name} " in done.stdout.split("examples:")[1]


@pytest.mark.parametrize("name", NAMES)
def test_every_option_of_the_parser_is_in_the_help(vmtrace: Any, name: str) -> None:
    shown = vmtrace(name, "--help", COLUMNS="200").stdout
    parser = rooms.COMMANDS[name].parser(name)
    options = [word for action in parser._actions for word in action.option_strings if word != "-h"]
    assert [option for option in options if option not in shown] == []


def test_the_list_of_commands_has_a_line_for_each(vmtrace: Any) -> None:
    done = vmtrace("--help", COLUMNS="160")
    for name in rooms.COMMANDS:
        assert name in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["send", "--nope"], "unrecognized arguments: --nope (see vmtrace send --help)"),
        (["send", "--repeat", "x"], "argument --repeat: x: a whole number from 1 to 1000000 is due"),
        (["send", "h", "--repeat", "1", "--for", "1h"], "argument --for: not allowed with argument --repeat"),
        (["send"], "name the receiver, as in: vmtrace send HOST --key-file FILE --out RUN"),
        (["fetch"], "the following arguments are required: RUN"),
        (["agent"], "the following arguments are required: --write"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(vmtrace: Any, arguments: list[str], text: str) -> None:
    done = vmtrace(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"vmtrace: {text}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fetch", "nowhere"], "nowhere: no run is there"),
        (["send", "--plan", "nope.toml", "h", "--out", "run"], "plan nope.toml: No such file or directory"),
        (["send", "h", "--out", "run", "--key-file", "nokey"], "nokey: No such file or directory"),
    ],
)
def test_what_a_room_cannot_do_is_one_line_and_status_1(vmtrace: Any, arguments: list[str], text: str) -> None:
    done = vmtrace(*arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(f"vmtrace: {text}")
    assert done.stderr.count("\n") == 1


def test_a_plan_is_shown_and_may_be_piped_to_head(vmtrace: Any, tmp_path: Path) -> None:
    assert "plan lee2011" in vmtrace("send", "--show-plan").stdout
    command = f"{sys.executable} -P -m vmtrace send --show-plan --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_the_shell_completes_options_and_choices(vmtrace: Any) -> None:
    def completed(words: str) -> list[str]:
        number = str(len(words.split(" ")) - 1)
        done = vmtrace(_VMTRACE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=number)
        return list(done.stdout.split())

    assert completed("vmtrace send --show") == ["--show-plan"]
    assert completed("vmtrace capture --direction i") == ["in"]
    assert "receive" in completed("vmtrace rec")


def test_running_a_command_loads_no_parser_and_no_data_library(tmp_path: Path) -> None:
    code = (
        "from vmtrace.cli import run; assert run(['send', '--show-plan']) == 0; import sys; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert loaded & {"typer", "click", "rich", "numpy", "pyarrow", "matplotlib", "receiver", "lab"} == set()
    assert "sender" in loaded


def test_errors_of_subcommands_name_the_whole_command(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = argparse.ArgumentParser()
    below = parser.add_subparsers(required=True).add_parser("run")
    below.add_argument("--seed", type=int)
    rooms._raise_usage_errors(parser)
    parser.prog = "vmtrace lab"
    with pytest.raises(UsageError, match=r"argument --seed: invalid int value: 'x' \(see .* run --help\)"):
        parser.parse_args(["run", "--seed", "x"])


def test_help_in_the_place_of_a_value_says_that_the_value_is_missing(vmtrace: Any) -> None:
    done = vmtrace("receive", "--key-file", "--help")
    assert (done.returncode, done.stderr) == (
        2,
        "vmtrace: argument --key-file: expected one argument (see vmtrace receive --help)\n",
    )


def test_help_is_asked_for_only_before_two_dashes() -> None:
    assert rooms.asks_for_help(["x", "--help"])
    assert not rooms.asks_for_help(["x", "--", "--help"])
