"""`vmtrace discover`: which front ends names have, where they are, how far. Subcommands: `discover_*` of this folder.

A module has `NAME`, `LINE` (what it does), `EXAMPLES`, `add_options(parser)` and `run(arguments)`; it imports the rooms
it needs only when it runs.
"""

import argparse
from types import ModuleType

from vmtrace.commands import discover_report, discover_run
from vmtrace.commands.subcommands import parser_of, run_chosen

_MODULES: tuple[ModuleType, ...] = (discover_run, discover_report)
run = run_chosen


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace discover`."""
    line = "Find the front ends of host names: their addresses, places and round trips."
    return parser_of("vmtrace discover", line, _MODULES)
