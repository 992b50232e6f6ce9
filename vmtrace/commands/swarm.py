"""`vmtrace swarm`: one file by BitTorrent from seeds and an object store. Each subcommand is a module `swarm_*`.

A module has `NAME`, `LINE` (what it does), `EXAMPLES`, `add_options(parser)` and `run(arguments)`; it imports the rooms
it needs only when it runs.
"""

import argparse
from types import ModuleType

from vmtrace.commands import swarm_report, swarm_run, swarm_seed
from vmtrace.commands.subcommands import parser_of, run_chosen

_MODULES: tuple[ModuleType, ...] = (swarm_run, swarm_seed, swarm_report)
run = run_chosen


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace swarm`."""
    line = "Download a file by BitTorrent from seeds and an object store as web seed: time, shares, charges."
    return parser_of("vmtrace swarm", line, _MODULES)
