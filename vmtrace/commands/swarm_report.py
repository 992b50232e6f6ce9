"""`vmtrace swarm report`: what runs of `vmtrace swarm run` show, alone or side by side.

Exit status: 0 done; 1 a run could not be read or an output not written; 2 wrong usage.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.options import add_window, window_of
from vmtrace.commands.report_outputs import PAGE_BY_DEFAULT, Outputs, ReportKind, add_outputs, readable
from vmtrace.errors import Exit, UsageError
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.read.records.window import Window
    from vmtrace.analyze.reports.swarm.charges import PerGb
    from vmtrace.analyze.reports.swarm.records import SwarmRun
    from vmtrace.analyze.reports.swarm.tables import Report

NAME = "report"
LINE = "Report on swarm runs: time and share by seeds, public against forbidden, fairness, overhead, charges saved."
EXAMPLES = """  vmtrace swarm report RUN
  vmtrace swarm report RUN --prices bocchi2014 --json -
  vmtrace swarm report run1 run2 --html swarms.html --csv tables --figures figures
"""

_KIND = ReportKind("vmtrace.analyze.reports.swarm", piped_width=180)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    from vmtrace.providers.rates import known_tables

    add = parser.add_argument
    add("runs", metavar="RUN", type=Path, nargs="+", help="folders written by vmtrace swarm run")
    known = ", ".join(known_tables())
    add("--prices", metavar="NAME|FILE", help=f"table of prices, for the charges saved: a TOML file, or {known}")
    add("--provider", metavar="NAME", default="s3", help="the store in the table of prices (default: s3)")
    add("--region", metavar="R", help="its region in the table of prices")
    add_window(parser)
    add_outputs(parser, page=PAGE_BY_DEFAULT)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    failures: list[str] = []
    prices = _prices(arguments)
    runs = _read(list(dict.fromkeys(arguments.runs)), failures, window_of(arguments))
    if not runs:
        return Exit.FAILED
    reports = _measured(runs, prices, quiet=arguments.quiet)
    failures += Outputs(_KIND, reports, arguments).make()
    return Exit.FAILED if failures else Exit.DONE


def _prices(arguments: argparse.Namespace) -> "PerGb | None":
    """What the store charges for a GB; raises `UsageError` where the table does not say."""
    if arguments.prices is None:
        return None
    from vmtrace.analyze.reports.swarm.charges import PerGb
    from vmtrace.providers import errors
    from vmtrace.providers.prices import Usage, load_prices

    try:
        table = load_prices(arguments.prices)
    except errors.UsageError as error:
        raise UsageError(f"--prices: {error}") from error
    found = table.prices(arguments.provider, arguments.region)
    if found is None:
        where = f" in {arguments.region}" if arguments.region else ""
        raise UsageError(f"--prices {table.name}: no prices of {arguments.provider}{where}: name another --provider")
    per_gb = found.charges(Usage(downloaded_bytes=10**9))
    return PerGb(
        table.name, table.currency, arguments.provider, arguments.region, per_gb["transfer"] + per_gb["retrieval"]
    )


def _read(folders: Sequence[Path], failures: list[str], window: "Window") -> "list[SwarmRun]":
    """The runs that can be reported on; the others get a line of error each."""
    from vmtrace.analyze.read.records.run_folder import numbered_apart
    from vmtrace.analyze.reports.swarm.run_folder import read_swarm_run

    return numbered_apart(
        readable(
            folders,
            lambda folder: read_swarm_run(folder, window),
            lambda run: None if run.downloads else "no download ended",
            failures,
        )
    )


def _measured(runs: "Sequence[SwarmRun]", prices: "PerGb | None", *, quiet: bool) -> "list[Report]":
    from vmtrace.analyze.reports.swarm.measured import captures_of, measure_run
    from vmtrace.analyze.reports.swarm.tables import Report

    paths = {run.folder: [str(path) for path in captures_of(run)] for run in runs}
    with Bar([path for found in paths.values() for path in found], wanted=not quiet) as bar:
        return [Report(measure_run(run, bar.part(paths[run.folder])), prices) for run in runs]
