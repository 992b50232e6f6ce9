"""Options that several commands have: the same everywhere."""

import argparse

from vmtrace.commands import options
from vmtrace.commands.rooms import COMMANDS

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
