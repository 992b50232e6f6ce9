"""Subcommands of one command, each a module of this folder, `storage_run` of `vmtrace storage run`.

A module has `NAME`, `LINE` (what it does), `EXAMPLES`, `add_options(parser)` and `run(arguments)`; it imports the rooms
it needs only when it runs.
"""

import argparse
from collections.abc import Sequence
from types import ModuleType


def run_chosen(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    status: int = arguments.subcommand(arguments)
    return status


def parser_of(prog: str, description: str, modules: Sequence[ModuleType]) -> argparse.ArgumentParser:
    """A parser whose result has `subcommand`: the `run` of the module chosen."""
    formatter = argparse.RawDescriptionHelpFormatter
    examples = "examples:\n" + "".join(module.EXAMPLES for module in modules)
    parser = argparse.ArgumentParser(prog=prog, description=description, epilog=examples, formatter_class=formatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in modules:
        epilog = "examples:\n" + module.EXAMPLES
        subparser = commands.add_parser(
            module.NAME, help=module.LINE, description=module.LINE, epilog=epilog, formatter_class=formatter
        )
        module.add_options(subparser)
        subparser.set_defaults(subcommand=module.run)
    return parser
