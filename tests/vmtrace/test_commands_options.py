"""Options that several commands have: the same everywhere."""

import argparse
import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vmtrace.command_line import every_parser
from vmtrace.commands import options
from vmtrace.commands.rooms import COMMANDS
from vmtrace.errors import UsageError

ANALYSIS = ("analyze", "compare", "report", "compare-runs")


def declared(name: str) -> dict[str, tuple[object, ...]]:
    actions = COMMANDS[name].parser(name)._actions
    return {word: (one.help, one.metavar, one.dest, one.type) for one in actions for word in one.option_strings}


def test_an_option_of_all_analysis_commands_is_the_same_in_each() -> None:
    common = [declared(name) for name in ANALYSIS]
    for option in ("--json", "--quiet", "-q", "--no-color", "--debug"):
        assert len({one[option] for one in common}) == 1, option


def test_the_parser_measures_no_terminal_for_its_options() -> None:
    parser = options.new_parser("x", "FILE", "What.", "  vmtrace x y\n")
    assert isinstance(parser._get_formatter(), argparse.RawDescriptionHelpFormatter)
    assert parser._get_formatter()._width == 80


ROOT = Path(__file__).parents[2]
OF_ONE_KIND = {
    *("--out", "--html", "--csv", "--parquet", "--figures", "--plan", "--for", "--duration"),
    *("--resume", "--filter", "--interface", "--no-capture", "--quiet"),
}


def declarations(path: Path) -> Iterator[tuple[str, str]]:
    """Options that a file gives to argparse, and where."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _ADDING:
            for word in node.args:
                if isinstance(word, ast.Constant) and str(word.value).startswith("--"):
                    yield str(word.value), f"{path.relative_to(ROOT)}:{node.lineno}"


_ADDING = {"add_argument", "add", "add_file"}


def test_an_option_of_one_kind_is_declared_once() -> None:
    """In one place of the product, whatever the number of commands that have it."""
    where: dict[str, list[str]] = {}
    for room in ROOT.glob("*/__init__.py"):
        for path in room.parent.rglob("*.py"):
            if room.parent.name not in {"tests", "bench", "tools"} and not path.is_relative_to(
                ROOT / "vmtrace/analyze"
            ):
                for option, place in declarations(path):
                    where.setdefault(option, []).append(place)
    assert {option: where[option] for option in OF_ONE_KIND if len(set(where[option])) != 1} == {}
    # A place for the document, and a word to print it.
    assert len(set(where["--json"])) == 2


def test_for_and_duration_are_one_option_everywhere() -> None:
    found = 0
    for name in COMMANDS:
        for parser in every_parser(COMMANDS[name].parser(name)):
            for action in parser._actions:
                if {"--for", "--duration"} & set(action.option_strings):
                    assert (action.option_strings, action.dest, action.metavar) == (
                        ["--for", "--duration"],
                        "duration",
                        "TIME",
                    )
                    found += 1
    assert found >= 6


@pytest.mark.parametrize(
    ("out", "resume", "folder"),
    [(None, None, None), ("a", None, "a"), (None, "b", "b"), ("a", "", "a"), ("a", "a", "a")],
)
def test_a_run_goes_on_in_the_folder_that_either_option_names(
    out: str | None, resume: str | None, folder: str | None
) -> None:
    assert options.run_folder(None if out is None else Path(out), resume) == (None if folder is None else Path(folder))


@pytest.mark.parametrize(
    ("out", "resume", "said"),
    [("a", "b", "--resume b and --out a name two folders"), (None, "", "--resume: name the folder of the run")],
)
def test_two_folders_or_none_are_wrong_usage(out: str | None, resume: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        options.run_folder(None if out is None else Path(out), resume)


MEMORY = [("1GiB", 1 << 30), ("1.5 GiB", 3 << 29), ("512MiB", 512 << 20), ("1GB", 10**9)]


@pytest.mark.parametrize(("text", "size_bytes"), MEMORY)
@pytest.mark.parametrize("name", ["analyze", "watch", "corpus analyze"])
def test_memory_is_written_as_sizes_are_everywhere(name: str, text: str, size_bytes: int) -> None:
    assert memory(name)(text) == size_bytes


@pytest.mark.parametrize("text", ["127MiB", "0", "much", "-1GiB", "1GiB more", "9e9"])
def test_memory_that_is_too_little_or_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"at least 128MiB|not a size"):
        memory("analyze")(text)


def memory(name: str) -> Callable[[str], object]:
    """What reads the option of this command."""
    first = name.partition(" ")[0]
    command = COMMANDS[first].parser(first)
    [parser] = [one for one in every_parser(command) if one.prog == f"vmtrace {name}"]
    [read] = [one.type for one in parser._actions if "--memory" in one.option_strings]
    assert callable(read)
    return read
