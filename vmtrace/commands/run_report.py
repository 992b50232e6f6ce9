"""What `vmtrace report` does: read runs, measure their captures, print, write. Owns the order and the exit status."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vmtrace.analyze.read.records.run_folder import inside_or_new
from vmtrace.analyze.reports.run.results import Choice, NoSuchPairError, RunResults
from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.outputs import answer, opened, printed, wanted, write_all
from vmtrace.commands.runs import measure_runs, read_runs
from vmtrace.errors import CommandError, Exit, UsageError
from vmtrace.missing import REPORTS, require
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.charts.chart import Chart
    from vmtrace.analyze.reports.run.provenance import Provenance


class Request(NamedTuple):
    """The command line, checked by the parser. Option names as in `vmtrace report --help`."""

    folders: tuple[Path, ...]
    html: Path | None = None
    figures: Path | None = None
    csv: Path | None = None
    json: str | None = None
    pair: int | None = None
    match_sides: bool = True
    everything: bool = False
    most_lines: int | None = None
    """Of the answer printed, where others have printed before it; None: what one screen holds."""
    quiet: bool = False
    no_color: bool = False
    debug: bool = False

    @property
    def writes(self) -> bool:
        """True if any output is asked for."""
        return any(place is not None for place in (self.html, self.figures, self.csv, self.json))


def run(request: Request) -> int:
    """Do what was asked; returns the exit status."""
    instead = redirect(request.folders, Kind.RUN)
    if instead is not None:
        raise UsageError(instead)
    failures = list[str]()
    runs = read_runs(list(dict.fromkeys(request.folders)), failures)
    if not runs:
        return Exit.FAILED
    require(*REPORTS)
    measured = measure_runs(runs, quiet=request.quiet, match_sides=request.match_sides)
    choices = _choices(measured, request.pair)
    outputs = Outputs(measured, choices, _with_default(request))
    # Who asks for JSON has a program read it, not eyes.
    if not request.quiet and request.json is None:
        failures += outputs.print()
    failures += outputs.write()
    return Exit.FAILED if failures else Exit.DONE


def _choices(runs: Sequence[RunResults], sequence: int | None) -> list[Choice]:
    """The pair of each run that is drawn. A run without the one asked for shows its own choice, if another has it."""
    choices, missing = list[Choice](), list[NoSuchPairError]()
    for one in runs:
        try:
            choices.append(one.choose(sequence))
        except NoSuchPairError as error:
            missing.append(error)
            choices.append(one.choose(None))
    if len(missing) == len(runs):
        raise UsageError(f"--pair {missing[0]}")
    return choices


def _with_default(request: Request) -> Request:
    """Who asks for nothing gets the page, beside the data of the one run it is about."""
    if request.writes or len(request.folders) != 1:
        return request
    place = inside_or_new(request.folders[0], "report.html")
    if place is None:
        raise CommandError(f"{request.folders[0]}/report.html points outside the run folder: give --html FILE")
    return request._replace(html=place)


class Outputs:
    """What is printed and written. Each output that fails is told of; the others are still made."""

    def __init__(self, runs: Sequence[RunResults], choices: Sequence[Choice], request: Request) -> None:
        self._runs = list(runs)
        self._choices = list(choices)
        self._request = request
        self._page: Path | None = None
        """Where the page is, once it is written."""

    def print(self) -> list[str]:
        """The human answer on standard output; returns what went wrong."""
        return printed(self._show, no_color=self._request.no_color)

    def _show(self, console: "Console") -> None:
        if not self._request.everything:
            from vmtrace.analyze.reports.run import human_short

            human_short.show(self._runs, console, self._request.most_lines or human_short.MOST_LINES)
            return
        from vmtrace.analyze.reports.run import human

        for number, one in enumerate(self._runs):
            if number:
                console.print()
            human.show(one, console)
        human.show_changes(self._runs, console)

    def write(self) -> list[str]:
        """Every file asked for; returns one line for each that failed."""
        request = self._request
        tasks = (
            *wanted(request.json, self._write_json),
            *wanted(request.csv, self._write_csv),
            *wanted(request.figures, self._write_figures),
            *wanted(request.html, self._write_html),
        )
        failures = write_all(tasks, debug=request.debug, making=Bar(wanted=not request.quiet).making)
        if self._page is not None and not request.quiet and request.json is None:
            with answer():
                print(f"\nreport, to open in a browser: {self._page}")
        return failures

    def _write_json(self, place: str) -> None:
        from vmtrace.analyze.reports.run.document import document
        from vmtrace.analyze.words.document import as_bytes

        content = as_bytes(document(self._runs, self._choices))
        with opened(place) as write:
            write(content)

    def _write_csv(self, folder: Path) -> None:
        from vmtrace.analyze.reports.run.document import write_csv

        write_csv(self._runs, folder, self._provenance)

    def _write_figures(self, folder: Path) -> None:
        from vmtrace.analyze.charts.on_paper import write_charts

        write_charts(self._charts, folder)

    def _write_html(self, path: Path) -> None:
        from vmtrace.analyze.reports.run.page.page import write_page_of

        write_page_of(self._runs, self._charts, self._provenance, path)
        self._page = path

    @cached_property
    def _charts(self) -> "list[Chart]":
        from vmtrace.analyze.reports.run.figures import charts

        return charts(self._runs, self._choices)

    @cached_property
    def _provenance(self) -> "Provenance":
        from vmtrace.analyze.reports.run import provenance

        return provenance.of_runs(self._runs)
