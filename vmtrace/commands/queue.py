"""`vmtrace queue`: message queues as black boxes. Each subcommand is a module `queue_*` of this folder.

A module has `NAME`, `LINE`, `EXAMPLES`, `add_options(parser)` and `run(arguments)`; it imports the rooms it needs only
when it runs.
"""

import argparse
from types import ModuleType

from vmtrace.commands import queue_clean, queue_report, queue_run
from vmtrace.commands.subcommands import parser_of, run_chosen

_MODULES: tuple[ModuleType, ...] = (queue_run, queue_report, queue_clean)
run = run_chosen


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace queue`."""
    return parser_of("vmtrace queue", "Measure message queues: rates, order, latency, duplicates.", _MODULES)
