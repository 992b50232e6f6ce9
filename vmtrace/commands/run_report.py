"""What `vmtrace report` does: read runs, measure their captures, print, write. Owns the order and the exit status."""

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyze.run.records import Run
from analyze.run.results import Choice, NoSuchPairError, RunResults
from analyze.run.run_folder import RunFolderError, inside_or_new, named_apart, read_run
from analyze.run.transfers import Measuring
from analyze.units import plural
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe, guarded_output
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from analyze.run.chart import Chart
    from analyze.run.provenance import Provenance

_STANDARD_OUTPUT = "-"


class Request(NamedTuple):
    """The command line, checked by the parser. Option names as in `vmtrace report --help`."""

    folders: tuple[Path, ...]
    html: Path | None = None
    figures: Path | None = None
    csv: Path | None = None
    json: str | None = None
    pair: int | None = None
    match_sides: bool = True
    quiet: bool = False
    no_color: bool = False
    debug: bool = False

    @property
    def writes(self) -> bool:
        """True if any output is asked for."""
        return any(place is not None for place in (self.html, self.figures, self.csv, self.json))


def run(request: Request) -> int:
    """Do what was asked; returns the exit status."""
    failures = list[str]()
    runs = _read(list(dict.fromkeys(request.folders)), failures)
    if not runs:
        return Exit.FAILED
    measured = _measure(runs, request)
    choices = _choices(measured, request.pair)
    with guarded_output():
        outputs = Outputs(measured, choices, _with_default(request))
        # Who asks for JSON has a program read it, not eyes.
        if not request.quiet and request.json is None:
            outputs.print()
        failures += outputs.write()
    return Exit.FAILED if failures else Exit.DONE


def _read(folders: Sequence[Path], failures: list[str]) -> list[Run]:
    """The runs that can be reported on; the others are told of, one line each."""
    runs = []
    for folder in folders:
        try:
            found = read_run(folder)
            if not found.complete_pairs:
                raise RunFolderError(_empty(found))
            runs.append(found)
        except (RunFolderError, OSError, ValueError) as error:
            failures.append(describe(error))
            complain(failures[-1])
    return named_apart(runs)


def _empty(found: Run) -> str:
    failed = f", {plural(len(found.pairs), 'failed pair')}" if found.pairs else ""
    why = f": {found.record.error}" if found.record.error else ""
    wrong = f"; {found.problems[0]}" if found.problems else ""
    return f"{found.folder}: no finished pair (the run is {found.record.status}{failed}{why}{wrong})"


def _measure(runs: Sequence[Run], request: Request) -> list[RunResults]:
    measurings = [Measuring(run, compared=request.match_sides) for run in runs]
    unread = [path for measuring in measurings for path in measuring.unread]
    results = []
    with Bar(unread, wanted=not request.quiet) as bar:
        done_bytes = 0
        for found, measuring in zip(runs, measurings, strict=True):
            before = done_bytes
            counted = _Counted(bar, before)
            transfers = measuring.run(counted)
            done_bytes = before + counted.bytes
            results.append(RunResults(found, tuple(transfers), (*found.problems, *measuring.problems)))
    return results


class _Counted:
    """Passes the bytes of one run on to a bar that counts those of all."""

    def __init__(self, bar: Bar, before: int) -> None:
        self._bar = bar
        self._before = before
        self.bytes = 0

    def __call__(self, consumed_bytes: int) -> None:
        self.bytes = consumed_bytes
        self._bar(self._before + consumed_bytes)


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
        raise CommandError(f"{request.folders[0]}/report.html leads out of the run folder: say where with --html FILE")
    return request._replace(html=place)


class Outputs:
    """What is printed and written. Each output that fails is told of; the others are still made."""

    def __init__(self, runs: Sequence[RunResults], choices: Sequence[Choice], request: Request) -> None:
        self._runs = list(runs)
        self._choices = list(choices)
        self._request = request

    def print(self) -> None:
        """The human answer on standard output."""
        from rich.console import Console

        from analyze.run import human

        # A pipe or a file has no width; and a table is read best at no more than this.
        width = None if sys.stdout.isatty() else 120
        console = Console(no_color=self._request.no_color or None, highlight=False, width=width, markup=False)
        try:
            for number, one in enumerate(self._runs):
                if number:
                    console.print()
                human.show(one, console)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CommandError(f"cannot write standard output: {error.strerror}") from error

    def write(self) -> list[str]:
        """Every file asked for; returns one line for each that failed."""
        request, failures = self._request, list[str]()
        tasks: tuple[tuple[object, Callable[[], None]], ...] = (
            (request.json, self._write_json),
            (request.csv, self._write_csv),
            (request.figures, self._write_figures),
            (request.html, self._write_html),
        )
        for wanted, task in tasks:
            if wanted is None:
                continue
            try:
                task()
            except BrokenPipeError:
                raise
            except OSError as error:
                failures.append(f"cannot write {describe(error)}")
                complain(failures[-1])
                if request.debug:
                    traceback.print_exc()
        return failures

    def _write_json(self) -> None:
        from analyze.atomic import writing
        from analyze.run.document import as_bytes, document

        content = as_bytes(document(self._runs, self._choices))
        if self._request.json == _STANDARD_OUTPUT:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        with writing(Path(self._request.json or "")) as out:
            out.write(content)

    def _write_csv(self) -> None:
        from analyze.run.document import write_csv

        write_csv(self._runs, self._request.csv or Path(), self._provenance)

    def _write_figures(self) -> None:
        from analyze.run.chart_print import write_charts

        write_charts(self._charts, self._request.figures or Path())

    def _write_html(self) -> None:
        from analyze.run.page import write_page_of

        path = self._request.html or Path()
        write_page_of(self._runs, self._charts, self._provenance, path)
        if not self._request.quiet and self._request.json is None:
            print(f"\nreport, to open in a browser: {path}")

    @cached_property
    def _charts(self) -> "list[Chart]":
        from analyze.run.figures import charts

        return charts(self._runs, self._choices)

    @cached_property
    def _provenance(self) -> "Provenance":
        from analyze.run import provenance

        return provenance.of_runs(self._runs)
