"""`vmtrace queue report`: what runs of `vmtrace queue run` show, alone or side by side.

Exit status: 0 done; 1 a run could not be read or an output not written; 2 wrong usage.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.options import add_window, window_of
from vmtrace.commands.report_outputs import PAGE_BY_DEFAULT, Outputs, ReportKind, add_outputs, readable
from vmtrace.errors import Exit
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.read.records.window import Window
    from vmtrace.analyze.reports.queues.records import QueueRun
    from vmtrace.analyze.reports.queues.tables import Report
    from vmtrace.analyze.reports.queues.wire import Wire

NAME = "report"
LINE = "Report on queue runs: latency, rates, order, duplicates, losses, wire, charges; several side by side."
EXAMPLES = """  vmtrace queue report RUN
  vmtrace queue report ireland tokyo --html regions.html
  vmtrace queue report RUN --csv tables --figures figures --json -
"""

_KIND = ReportKind("vmtrace.analyze.reports.queues")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="folders written by vmtrace queue run")
    add_window(parser)
    add_outputs(parser, page=PAGE_BY_DEFAULT)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    failures: list[str] = []
    reports = _read(list(dict.fromkeys(arguments.runs)), failures, window_of(arguments), quiet=arguments.quiet)
    if not reports:
        return Exit.FAILED
    failures += Outputs(_KIND, reports, arguments).make()
    return Exit.FAILED if failures else Exit.DONE


def _read(folders: Sequence[Path], failures: list[str], window: "Window", *, quiet: bool) -> "list[Report]":
    """The runs that can be reported on; an error line for each of the others."""
    from vmtrace.analyze.read.records.run_folder import numbered_apart
    from vmtrace.analyze.reports.queues.run_folder import logs_bytes, read_queue_run
    from vmtrace.analyze.reports.queues.tables import reports_of
    from vmtrace.analyze.reports.queues.two_hosts import with_joined

    def lacking(run: "QueueRun") -> str | None:
        return None if any(log.attempted or len(log.received) for log in run.logs) else "no message was sent"

    with Bar([path for folder in folders for path in logs_bytes(folder)], wanted=not quiet) as bar:
        runs = readable(folders, lambda folder: read_queue_run(folder, bar, window), lacking, failures)
    wired = _with_wire(with_joined(numbered_apart(runs)), quiet=quiet)
    with Bar(wanted=not quiet).making("the report"):
        return reports_of(wired)


def _with_wire(runs: "list[QueueRun]", *, quiet: bool) -> "list[tuple[QueueRun, Wire]]":
    from vmtrace.analyze.reports.queues.wire import captures_of, measure

    paths = [str(path) for run in runs for _, path in captures_of(run)]
    with Bar(paths, wanted=not quiet) as bar:
        return [(run, measure(run, bar)) for run in runs]
