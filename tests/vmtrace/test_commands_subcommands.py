"""Subcommands of one command are its modules."""

import argparse
from types import ModuleType

import pytest

from vmtrace.commands.discover_libraries import require
from vmtrace.commands.subcommands import parser_of
from vmtrace.errors import CommandError


def module(name: str) -> ModuleType:
    made = ModuleType(name)

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--much", type=int, default=1)

    said = {"NAME": name, "LINE": f"Does {name}.", "EXAMPLES": f"  x {name}\n"}
    vars(made).update(said, add_options=add_options, run=lambda options: options.much)
    return made


def test_each_module_is_a_subcommand_with_its_options() -> None:
    parsed = parser_of("x", "About.", [module("one"), module("two")]).parse_args(["two", "--much", "7"])
    assert (parsed.command, parsed.subcommand(parsed)) == ("two", 7)


def test_a_library_that_is_not_installed_is_named_with_the_remedy() -> None:
    require({"json": "json"})
    with pytest.raises(CommandError, match=r"nosuchlibrary not installed: .* pip install 'nosuch>=2'$"):
        require({"json": "json", "nosuchlibrary": "nosuch>=2"})
