"""`vmtrace storage`: workloads against storage services. Each subcommand is a module `storage_*` of this folder.

A module has `NAME`, `LINE` (what it does), `EXAMPLES`, `add_options(parser)` and `run(arguments)`; it imports the rooms
it needs only when it runs.
"""

import argparse
from types import ModuleType

from vmtrace.commands import storage_clean, storage_report, storage_run, storage_thin
from vmtrace.commands.subcommands import parser_of, run_chosen

_MODULES: tuple[ModuleType, ...] = (storage_run, storage_report, storage_clean, storage_thin)
run = run_chosen


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace storage`."""
    description = "Measure storage services as black boxes: their connections, overhead and throughput."
    return parser_of("vmtrace storage", description, _MODULES)
