"""`vmtrace storage`: workloads against storage services. Each subcommand is a module `storage_*` of this folder.

A module has `NAME`, `LINE` (what it does), `EXAMPLES`, `add_options(parser)` and `run(arguments)`; it imports the rooms
it needs only when it runs.
"""

import argparse
from types import ModuleType

from vmtrace.commands import storage_clean, storage_report, storage_run, storage_thin

_MODULES: tuple[ModuleType, ...] = (storage_run, storage_report, storage_clean, storage_thin)


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace storage`."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="vmtrace storage",
        description="Storage services as black boxes: their connections, their overhead, their throughput.",
        epilog="examples:\n" + "".join(module.EXAMPLES for module in _MODULES),
        formatter_class=formatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in _MODULES:
        epilog = "examples:\n" + module.EXAMPLES
        subparser = commands.add_parser(
            module.NAME, help=module.LINE, description=module.LINE, epilog=epilog, formatter_class=formatter
        )
        module.add_options(subparser)
        subparser.set_defaults(storage_command=module.run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    status: int = arguments.storage_command(arguments)
    return status
