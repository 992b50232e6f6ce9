"""The argparse tree: what any subcommand gets from it, and that only the branch asked for is loaded."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace import command_line
from vmtrace.commands import analysis
from vmtrace.commands.request import Request
from vmtrace.commands.rooms import COMMANDS
from vmtrace.errors import Exit, UsageError


def leaves(name: str) -> list[argparse.ArgumentParser]:
    """The parsers of a subcommand that have options of their own: those beneath it, if there are any."""
    every = list(command_line.every_parser(COMMANDS[name].parser(name)))
    return every[1:] or every


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_that_the_parser_accepts(name: str) -> None:
    for parser in leaves(name):
        assert parser.epilog, parser.prog
        examples = re.findall(rf"^  (?:sudo (?:-E )?)?(vmtrace {name}\b.*)", parser.epilog, re.MULTILINE)
        assert examples, parser.prog
        for line in examples:
            words = shlex.split(re.split(r" {2,}| [|>]", line)[0])
            if "..." not in words:
                assert command_line.parsed(COMMANDS[name].parser(name), words[2:]) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_no_help_shows_a_python_type_or_lacks_a_line_for_an_option(name: str) -> None:
    for parser in leaves(name):
        text = parser.format_help()
        assert not re.search(r"<\w+>|<function|%\(", text), parser.prog
        for action in parser._actions:
            assert action.help, f"{parser.prog} {action.dest}"


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["analyze", "-h"], ["storage", "run", "-h"], ["lab", "-h"]])
def test_help_is_a_short_option_too(vmtrace: Any, words: list[str]) -> None:
    done = vmtrace(*words, COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: vmtrace" in done.stdout
    assert "examples:" in done.stdout


@pytest.mark.parametrize("columns", ["20", "40", "300"])
def test_help_fits_any_terminal(vmtrace: Any, columns: str) -> None:
    done = vmtrace("analyze", "--help", COLUMNS=columns, LC_ALL="C", PYTHONIOENCODING="ascii", TERM="dumb")
    assert done.returncode == 0
    assert "--fail-if" in done.stdout


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_the_version_is_a_short_option_too(vmtrace: Any, word: str) -> None:
    assert re.fullmatch(r"vmtrace \d+\.\d+\.\d+\S*\n", vmtrace(word).stdout)


def test_the_list_of_commands_has_a_line_for_each(vmtrace: Any) -> None:
    shown = " ".join(vmtrace("--help", COLUMNS="160").stdout.split())
    assert [name for name, command in COMMANDS.items() if f"{name} {command.help}" not in shown] == []


@pytest.mark.parametrize("words", [[], ["analyze"], ["compare"], ["report"], ["compare-runs"]])
def test_no_arguments_print_the_help(vmtrace: Any, words: list[str]) -> None:
    done = vmtrace(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Usage: {' '.join(['vmtrace', *words])}" in done.stderr


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("analyze --nope x", "unrecognized arguments: --nope (see vmtrace analyze --help)"),
        ("nope", "no command 'nope': there are analyze, compare,"),
        ("analyse x.pcap", "no command 'analyse'; did you mean vmtrace analyze? (see vmtrace --help)"),
        ("--nope", "unrecognized arguments: --nope (see vmtrace --help)"),
        ("analyze x --threads many", "argument --threads: many: expected a whole number from 0 to 1024"),
        ("analyze x --by colour", "argument --by: invalid choice: 'colour'"),
        ("analyze x --limit 0", "argument --limit: 0: expected a whole number from 1 to"),
        ("analyze x --merge --separate", "argument --separate: not allowed with argument --merge"),
        ("analyze x --jso y", "unrecognized arguments: --jso"),
        ("analyze x --oversize-abs 0", "argument --oversize-abs: 0: expected a number above 0"),
        ("compare x y --oversize-abs nan", "argument --oversize-abs: nan: expected a number above 0"),
        ("compare x", "the following arguments are required: RECEIVER (see vmtrace compare --help)"),
        ("lab run --seed x", "argument --seed: invalid int value: 'x' (see vmtrace lab run --help)"),
        ("receive --key-file --help", "argument --key-file: expected one argument (see vmtrace receive --help)"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(vmtrace: Any, line: str, text: str) -> None:
    done = vmtrace(*line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"vmtrace: {text}")
    assert done.stderr.count("\n") == 1


def test_a_capture_or_a_run_in_the_place_of_a_command_names_the_command(
    vmtrace: Any, transfer: Any, tmp_path: Path
) -> None:
    transfer.write(tmp_path / "x.pcap")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text('{"schema": "vmtrace.run/1"}')
    for words, line in (
        (["x.pcap", "--json", "-"], "x.pcap is a capture: vmtrace analyze x.pcap --json -"),
        (["run"], "run is a run of vmtrace send: vmtrace report run"),
    ):
        done = vmtrace(*words)
        assert (done.returncode, done.stderr) == (2, f"vmtrace: {line}\n")


def test_debug_goes_with_any_command_and_before_it(vmtrace: Any) -> None:
    for words in (["--debug", "analyze", "gone.pcap"], ["agent", "--debug", "--write", "no/such/folder"]):
        done = vmtrace(*words)
        assert done.returncode == 1
        assert "No such file or directory" in done.stderr


VALUES = st.one_of(st.just("-"), st.just("st\udcff.pcap"), st.text().filter(lambda text: not text.startswith("-")))
OPTIONS = st.one_of(
    st.tuples(st.sampled_from(["--json", "--filter", "--fail-if"]), VALUES),
    st.tuples(st.sampled_from(["--anonymize", "--quiet", "-q", "--no-color"])),
)


def understood(words: Sequence[str]) -> Request:
    with mock.patch.object(analysis, "run", return_value=0) as run:
        assert command_line.run(words) == 0
    request: Request = run.call_args.args[0]
    return request


@given(st.lists(VALUES, min_size=1, max_size=3), st.lists(OPTIONS, max_size=5), st.randoms(use_true_random=False))
def test_options_stand_anywhere_between_files(names: list[str], options: list[tuple[str, ...]], order: Any) -> None:
    pieces = [(name,) for name in names] + options
    numbers = list(range(len(pieces)))
    order.shuffle(numbers)
    words = [word for number in numbers for word in pieces[number]]
    files = [pieces[number][0] for number in numbers if number < len(names)]
    request = understood(["analyze", *words])
    assert request.names == tuple(files)
    given: dict[str, str] = {}
    for number in numbers:
        option, *value = pieces[number]
        given |= dict.fromkeys([option] * len(value), *value)
    assert (request.json, request.filter, request.fail_if) == tuple(map(given.get, ("--json", "--filter", "--fail-if")))
    assert request.anonymize == (("--anonymize",) in options)


def test_what_follows_two_dashes_is_a_file() -> None:
    assert understood(["analyze", "-q", "--", "--json", "x"]).names == ("--json", "x")
    with pytest.raises(UsageError):
        understood(["analyze", "-q", "--json"])


@pytest.mark.parametrize("words", [["--help"], ["analyze", "--help"], ["storage", "run", "--help"], ["--version"]])
def test_a_reader_of_the_help_who_has_had_enough_ends_it_quietly(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [sys.executable, "-P", "-m", "vmtrace", *words]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_within_a_command_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_request: Request) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command_line.run(["analyze", "x"])


def test_an_interrupted_status_stays_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "run", lambda _request: Exit.INTERRUPTED)
    assert command_line.run(["analyze", "x"]) == Exit.INTERRUPTED
