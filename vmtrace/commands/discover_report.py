"""`vmtrace discover report`: what runs of `vmtrace discover run` show, those of several vantage points together.

Exit status: 0 done; 1 a run could not be read or an output not written; 2 wrong usage.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.commands.options import add_window, window_of
from vmtrace.commands.outputs import wanted
from vmtrace.commands.report_outputs import Outputs, ReportKind, add_outputs, readable
from vmtrace.errors import Exit, UsageError, describe
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.findings.services.ranges import AddressRanges
    from vmtrace.analyze.reports.discovery.places import Measured
    from vmtrace.analyze.reports.discovery.records import DiscoveryRun
    from vmtrace.analyze.reports.discovery.report import Report

NAME = "report"
LINE = "Report on discovery runs: front ends, their places with the evidence, round trips; several vantage points."
EXAMPLES = """  vmtrace discover report lausanne
  vmtrace discover report lausanne new-york hong-kong --html report.html --map map.svg
  vmtrace discover report RUN --json - --address-ranges ip-ranges.json
"""

_KIND = ReportKind("vmtrace.analyze.reports.discovery", page_by_default=False, several=True)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("runs", metavar="RUN", type=Path, nargs="+", help="folders written by vmtrace discover run")
    add("--address-ranges", metavar="FILE", type=Path, action="append", default=[],
        help="published IP ranges of providers, to say whose each address is; may be repeated")  # fmt: skip
    add_window(parser)
    add_outputs(parser, page="one HTML file with map, bars and all tables", figures=False)
    add("--map", metavar="FILE", type=Path, help="the map alone, as SVG")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    from vmtrace.analyze.reports.discovery.report import report_of

    failures: list[str] = []
    ranges = _ranges(arguments.address_ranges)
    runs = read_runs(list(dict.fromkeys(arguments.runs)), failures, window_of(arguments))
    if not runs:
        return Exit.FAILED
    problems: list[str] = []
    report = report_of(_measured(runs, problems, quiet=arguments.quiet), ranges, problems)
    outputs = Outputs(_KIND, report, arguments, more=wanted(arguments.map, partial(_write_map, report)))
    failures += outputs.make()
    return Exit.FAILED if failures else Exit.DONE


def read_runs(folders: Sequence[Path], failures: list[str], window: Window = ALL_TIME) -> "list[DiscoveryRun]":
    """The runs that can be reported on; a line of trouble for each other."""
    from vmtrace.analyze.reports.discovery.run_folder import read_discovery_run
    from vmtrace.commands.discover_libraries import TO_REPORT, require

    require(TO_REPORT)
    return readable(
        folders,
        lambda folder: read_discovery_run(folder, window),
        lambda run: None if run.answers.seen else "no front end in it",
        failures,
    )


def _ranges(paths: Sequence[Path]) -> "AddressRanges":
    from vmtrace.analyze.findings.services import ranges

    try:
        return ranges.read(paths)
    except (OSError, ranges.RangesError) as error:
        raise UsageError(f"--address-ranges {describe(error)}") from error


def _measured(runs: "Sequence[DiscoveryRun]", problems: list[str], *, quiet: bool) -> "list[Measured]":
    from vmtrace.analyze.reports.discovery.report import measured
    from vmtrace.analyze.reports.discovery.run_folder import captures_of

    with Bar([str(path) for run in runs for path in captures_of(run)], wanted=not quiet) as bar:
        return measured(runs, problems, bar)


def _write_map(report: "Report", path: Path) -> None:
    from vmtrace.analyze.read.atomic import writing
    from vmtrace.analyze.reports.discovery.drawing import world_map

    with writing(path) as out:
        out.write(world_map(report).encode("utf-8", "replace"))
