"""`vmtrace queue report`: what runs of `vmtrace queue run` show, alone or side by side.

Exit status: 0 done; 1 a run could not be read or an output not written; 2 wrong usage.
"""

import argparse
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.outputs import answer, opened, printed, wanted, write_all
from vmtrace.errors import CommandError, Exit, complain, describe
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from analyze.charts.chart import Chart
    from analyze.queues.records import QueueRun
    from analyze.queues.tables import Report
    from analyze.queues.wire import Wire

NAME = "report"
LINE = "Report on queue runs: latency, rates, order, duplicates, losses, wire, charges; several side by side."
EXAMPLES = """  vmtrace queue report RUN
  vmtrace queue report ireland tokyo --html regions.html
  vmtrace queue report RUN --csv tables --figures figures --json -
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("runs", metavar="RUN", type=Path, nargs="+", help="folders that vmtrace queue run left")
    add(
        "--html", metavar="FILE", type=Path,
        help="one HTML file with zoomable figures and all tables (default, for one run and no other output:"
        " RUN/report.html)",
    )  # fmt: skip
    add("--csv", metavar="DIR", type=Path, help="all tables as CSV files")
    add("--figures", metavar="DIR", type=Path, help="figures for print (PNG, SVG) and their data (CSV)")
    add("--json", metavar="OUT|-", help="everything measured as JSON (- is standard output), and no table printed")
    add("-q", "--quiet", action="store_true", help="print nothing but errors")
    add("--no-color", action="store_true", help="print without colours")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    failures: list[str] = []
    reports = _read(list(dict.fromkeys(arguments.runs)), failures, quiet=arguments.quiet)
    if not reports:
        return Exit.FAILED
    outputs = Outputs(reports, _with_default(arguments))
    # Who asks for JSON has a program read it, not eyes.
    if not arguments.quiet and arguments.json is None:
        failures += outputs.print()
    failures += outputs.write()
    return Exit.FAILED if failures else Exit.DONE


def _read(folders: Sequence[Path], failures: list[str], *, quiet: bool) -> "list[Report]":
    """The runs that can be reported on; an error line for each of the others."""
    from analyze.queues.records import QueueRun
    from analyze.queues.run_folder import logs_bytes, read_queue_run
    from analyze.queues.tables import reports_of
    from analyze.records.run_folder import RunFolderError

    runs: list[QueueRun] = []
    with Bar([path for folder in folders for path in logs_bytes(folder)], wanted=not quiet) as bar:
        for folder in folders:
            try:
                found = read_queue_run(folder, bar)
                if not any(log.attempted or len(log.received) for log in found.logs):
                    why = "".join(f": {line}" for line in (found.error, *found.problems[:1]) if line)
                    raise RunFolderError(f"{folder}: no message was sent (the run is {found.status}{why})")
                runs.append(found)
            except (RunFolderError, OSError, ValueError) as error:
                failures.append(describe(error))
                complain(failures[-1])
    return reports_of(_with_wire(_named_apart(runs), quiet=quiet))


def _named_apart(runs: "list[QueueRun]") -> "list[QueueRun]":
    """Names that differ, for CSV files and legends."""
    from dataclasses import replace

    if len({run.name for run in runs}) == len(runs):
        return runs
    return [replace(run, name=f"{run.name} ({number})") for number, run in enumerate(runs, 1)]


def _with_wire(runs: "list[QueueRun]", *, quiet: bool) -> "list[tuple[QueueRun, Wire]]":
    from analyze.queues.wire import captures_of, measure

    paths = [str(path) for run in runs for _, path in captures_of(run)]
    with Bar(paths, wanted=not quiet) as bar:
        return [(run, measure(run, bar)) for run in runs]


def _with_default(arguments: argparse.Namespace) -> argparse.Namespace:
    """Who asks for nothing gets the page, in the folder of the one run it is about."""
    asked = any((arguments.html, arguments.csv, arguments.figures, arguments.json))
    if asked or len(arguments.runs) != 1:
        return arguments
    from analyze.records.run_folder import inside_or_new

    place = inside_or_new(arguments.runs[0], "report.html")
    if place is None:
        raise CommandError(f"{arguments.runs[0]}/report.html leads out of the run folder: name a file with --html FILE")
    return argparse.Namespace(**{**vars(arguments), "html": place})


class Outputs:
    """What is printed and written. Each output that fails has its error line; the others are still made."""

    def __init__(self, reports: "Sequence[Report]", arguments: argparse.Namespace) -> None:
        self._reports = list(reports)
        self._arguments = arguments
        self._page: Path | None = None
        """Where the page is, once it is written."""

    def print(self) -> list[str]:
        """The human answer on standard output; returns what went wrong."""
        from analyze.queues import human

        return printed(partial(human.show, self._reports), no_color=self._arguments.no_color, piped_width=160)

    def write(self) -> list[str]:
        """Every file asked for; returns one line for each that failed."""
        arguments = self._arguments
        tasks = (
            *wanted(arguments.json, self._write_json),
            *wanted(arguments.csv, self._write_csv),
            *wanted(arguments.figures, self._write_figures),
            *wanted(arguments.html, self._write_html),
        )
        failures = write_all(tasks, debug=False, making=Bar(wanted=not arguments.quiet).making)
        if self._page is not None and not arguments.quiet and arguments.json is None:
            with answer():
                print(f"\nreport, to open in a browser: {self._page}")
        return failures

    def _write_json(self, place: str) -> None:
        from analyze.document import as_bytes
        from analyze.queues.document import document

        content = as_bytes(document(self._reports))
        with opened(place) as write:
            write(content)

    def _write_csv(self, folder: Path) -> None:
        from analyze.queues.document import write_csv

        write_csv(self._reports, folder)

    def _write_figures(self, folder: Path) -> None:
        from analyze.charts.on_paper import write_charts

        write_charts(self._charts, folder)

    def _write_html(self, path: Path) -> None:
        from analyze.queues.document import provenance
        from analyze.queues.page import write_page_of

        write_page_of(self._reports, self._charts, provenance(self._reports), path)
        self._page = path

    @cached_property
    def _charts(self) -> "list[Chart]":
        from analyze.queues.charts import charts

        return charts(self._reports)
