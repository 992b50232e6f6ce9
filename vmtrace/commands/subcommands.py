"""A parser for commands whose subcommands are modules with `NAME`, `LINE`, `EXAMPLES`, `add_options` and `run`."""

import argparse
from collections.abc import Sequence
from types import ModuleType


def parser_of(command: str, description: str, modules: Sequence[ModuleType]) -> argparse.ArgumentParser:
    """The parser; the chosen module's `run` is in the parsed arguments, as `subcommand`."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog=command,
        description=description,
        epilog="examples:\n" + "".join(module.EXAMPLES for module in modules),
        formatter_class=formatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in modules:
        epilog = "examples:\n" + module.EXAMPLES
        subparser = commands.add_parser(
            module.NAME, help=module.LINE, description=module.LINE, epilog=epilog, formatter_class=formatter
        )
        module.add_options(subparser)
        subparser.set_defaults(subcommand=module.run)
    return parser
