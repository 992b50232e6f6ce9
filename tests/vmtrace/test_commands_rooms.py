"""Subcommands of other rooms: help and errors as of all others, and nothing loaded before it is asked for."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmtrace.commands import rooms

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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["send", "--nope"], "unrecognized arguments: --nope (see vmtrace send --help)"),
        (["send", "--repeat", "x"], "argument --repeat: x: expected a whole number from 1 to 1000000"),
        (
            ["send", "h", "--repeat", "1", "--for", "1h"],
            "argument --for/--duration: not allowed with argument --repeat",
        ),
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


def test_running_a_command_loads_no_parser_and_no_data_library(tmp_path: Path) -> None:
    code = (
        "from vmtrace.cli import run; assert run(['send', '--show-plan']) == 0; import sys; "
        "print(*sorted({name.removeprefix('vmtrace.').partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert loaded & {"argcomplete", "rich", "numpy", "pyarrow", "matplotlib", "receiver", "lab"} == set()
    assert "sender" in loaded
