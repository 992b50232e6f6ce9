"""`vmtrace discover report`: what runs of `vmtrace discover run` show, those of several vantage points together.

Exit status: 0 done; 1 a run could not be read or an output not written; 2 wrong usage.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.one_screen import on_one_screen
from vmtrace.commands.outputs import answer, opened, printed, wanted, write_all
from vmtrace.errors import Exit, UsageError, complain, describe
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from rich.console import Console

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


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        type=Path,
        nargs="+",
        help="folders written by vmtrace discover run",
    )
    add("--html", metavar="FILE", type=Path, help="one HTML file with map, bars and all tables")
    add("--map", metavar="FILE", type=Path, help="the map alone, as SVG")
    add("--csv", metavar="DIR", type=Path, help="all tables as CSV files")
    add("--json", metavar="OUT|-", help="everything found as JSON (- is standard output), and no table printed")
    add("--address-ranges", metavar="FILE", type=Path, action="append", default=[],
        help="published IP ranges of providers, to say whose each address is; may be repeated")  # fmt: skip
    add("--all", action="store_true", help="print everything, not only what fits on one screen")
    add("-q", "--quiet", action="store_true", help="print errors only")
    add("--no-color", action="store_true", help="print without colours")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    from vmtrace.analyze.reports.discovery.report import report_of

    failures: list[str] = []
    ranges = _ranges(arguments.address_ranges)
    runs = read_runs(list(dict.fromkeys(arguments.runs)), failures)
    if not runs:
        return Exit.FAILED
    problems: list[str] = []
    report = report_of(_measured(runs, problems, quiet=arguments.quiet), ranges, problems)
    # Who asks for JSON has a program read it, not eyes.
    if not arguments.quiet and arguments.json is None:
        failures += _print(report, arguments)
    failures += _write(report, arguments)
    return Exit.FAILED if failures else Exit.DONE


def read_runs(folders: Sequence[Path], failures: list[str]) -> "list[DiscoveryRun]":
    """The runs that can be reported on; a line of trouble for each other."""
    from vmtrace.analyze.read.records.run_folder import RunFolderError
    from vmtrace.analyze.reports.discovery.run_folder import read_discovery_run
    from vmtrace.commands.discover_libraries import TO_REPORT, require

    require(TO_REPORT)

    runs = []
    for folder in folders:
        try:
            found = read_discovery_run(folder)
            if not found.answers.seen:
                why = "".join(f": {said}" for said in (found.error, *found.problems[:1]) if said)
                raise RunFolderError(f"{folder}: no front end in it (the run is {found.status}{why})")
            runs.append(found)
        except (RunFolderError, OSError, ValueError) as error:
            failures.append(describe(error))
            complain(failures[-1])
    return runs


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


def _print(report: "Report", arguments: argparse.Namespace) -> list[str]:
    from vmtrace.analyze.reports.discovery import human

    show: Callable[[Console], None] = partial(human.show, report)
    if not arguments.all:
        show = on_one_screen(show)
    return printed(show, no_color=arguments.no_color, piped_width=160)


def _write(report: "Report", arguments: argparse.Namespace) -> list[str]:
    tasks = (
        *wanted(arguments.json, partial(_write_json, report)),
        *wanted(arguments.csv, partial(_write_csv, report)),
        *wanted(arguments.map, partial(_write_map, report)),
        *wanted(arguments.html, partial(_write_html, report)),
    )
    failures = write_all(tasks, debug=False, making=Bar(wanted=not arguments.quiet).making)
    if arguments.html is not None and not failures and not arguments.quiet and arguments.json is None:
        with answer():
            print(f"\nreport, to open in a browser: {arguments.html}")
    return failures


def _write_json(report: "Report", place: str) -> None:
    from vmtrace.analyze.reports.discovery.document import document
    from vmtrace.analyze.words.document import as_bytes

    content = as_bytes(document(report))
    with opened(place) as write:
        write(content)


def _write_csv(report: "Report", folder: Path) -> None:
    from vmtrace.analyze.reports.discovery.document import write_csv

    write_csv(report, folder)


def _write_map(report: "Report", path: Path) -> None:
    from vmtrace.analyze.read.atomic import writing
    from vmtrace.analyze.reports.discovery.drawing import world_map

    with writing(path) as out:
        out.write(world_map(report).encode("utf-8", "replace"))


def _write_html(report: "Report", path: Path) -> None:
    from vmtrace.analyze.reports.discovery.page import write_page_of

    write_page_of(report, path)
