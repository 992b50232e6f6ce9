"""`vmtrace swarm`: one file by BitTorrent from seeds and an object store. Each subcommand is a module `swarm_*`.

A module has `NAME`, `LINE` (what it does), `EXAMPLES`, `add_options(parser)` and `run(arguments)`; it imports the rooms
it needs only when it runs.
"""

import argparse
from types import ModuleType

from vmtrace.commands import swarm_report, swarm_run, swarm_seed

_MODULES: tuple[ModuleType, ...] = (swarm_run, swarm_seed, swarm_report)


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace swarm`."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="vmtrace swarm",
        description="Download a file by BitTorrent from seeds and an object store as web seed: time, shares, charges.",
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
        subparser.set_defaults(swarm_command=module.run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    status: int = arguments.swarm_command(arguments)
    return status
