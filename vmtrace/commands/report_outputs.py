"""What a report on runs prints and writes, whatever the runs are of: a report of each kind is made of the same parts.

A kind is a package of `analyze` with the modules `texts` (`parts`: the answer on the terminal), `document` (`document`,
`csv_tables`, `provenance`), `charts` (`charts`) and `page` (`page_of`). Each is imported only when it is asked for.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from vmtrace.commands.one_screen import on_one_screen
from vmtrace.commands.options import add_csv, add_display, add_figures, add_html, add_json
from vmtrace.commands.outputs import Afterwards, Task, printed, wanted, write_all, write_record
from vmtrace.errors import CommandError, complain, describe
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.charts.chart import Chart


class AnyRun(Protocol):
    """What runs of all kinds say of how they went."""

    @property
    def status(self) -> str:
        """By `run.json`."""

    @property
    def error(self) -> str | None:
        """What ended it."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read."""


Run = TypeVar("Run", bound=AnyRun)


def add_outputs(parser: argparse.ArgumentParser, *, page: str, figures: bool = True) -> None:
    """The options of every report: how much is printed, and which files are written; `page` says what the page is."""
    parser.add_argument("--all", action="store_true", help="print everything, not only what fits on one screen")
    add_display(parser)
    files = parser.add_argument_group("output files")
    add_html(files, page)
    if figures:
        add_figures(files, "figures for print (PNG, SVG) and their data (CSV) in this folder")
    add_csv(files, "all tables")
    add_json(files)


def readable(
    folders: Iterable[Path], read: Callable[[Path], Run], lacking: Callable[[Run], str | None], failures: list[str]
) -> list[Run]:
    """The runs that can be reported on; an error line for each of the others. `lacking`: what a run has nothing of."""
    from vmtrace.analyze.read.records.run_folder import RunFolderError

    runs = []
    for folder in folders:
        try:
            found = read(folder)
            if (missing := lacking(found)) is not None:
                why = "".join(f": {line}" for line in (found.error, *found.problems[:1]) if line)
                raise RunFolderError(f"{folder}: {missing} (the run is {found.status}{why})")
            runs.append(found)
        except (RunFolderError, OSError, ValueError) as error:
            failures.append(describe(error))
            complain(failures[-1])
    return runs


PAGE_BY_DEFAULT = (
    "one HTML page with all tables and zoomable figures, without network (default: RUN/report.html, for one run and no"
    " other output)"
)


class ReportKind(NamedTuple):
    """Of reports: where its modules are, and what is particular to it."""

    package: str
    modules: Mapping[str, str] = {}
    """Where a module has another name."""
    page_by_default: bool = True
    several: bool = False
    """True if tables have their column of runs even for a single one."""
    piped_width: int = 160
    following: str = "vmtrace fields"
    """The next command, where files without a page were written: here what their columns mean."""


class Outputs:
    """The outputs of one command. Each that fails gets a line of error; the others are still made."""

    def __init__(
        self,
        kind: ReportKind,
        reports: Any,
        arguments: Any,
        *,
        chosen: tuple[object, ...] = (),
        show: "Callable[[Console], None] | None" = None,
        more: Iterable[Task] = (),
    ) -> None:
        """`chosen` goes to document and charts, `show` prints instead of the parts, `more` is written before the page.

        `arguments` has the options of `add_outputs` and the folders, `runs`, as attributes.
        """
        self._kind = kind
        self._reports = reports
        self._arguments = arguments
        self._chosen = chosen
        self._show = show
        self._more = more
        self._html = arguments.html or (_default_page(arguments) if kind.page_by_default else None)
        self._piped = arguments.json is not None or str(self._html) == STANDARD_OUTPUT
        """Whether a program reads standard output, or a file takes the answer's place."""

    def make(self) -> list[str]:
        """Print and write; returns what went wrong. Who asks for JSON has a program read it, not eyes."""
        silent = self._arguments.quiet or self._piped
        return [*([] if silent else self._print()), *self._write()]

    def _print(self) -> list[str]:
        show = self._show
        if show is None:
            show = self._show_parts if self._arguments.all else on_one_screen(self._show_parts)
        width, making = self._kind.piped_width, Bar(wanted=True).making
        return printed(show, no_color=self._arguments.no_color, piped_width=width, making=making)

    def _show_parts(self, console: "Console") -> None:
        from vmtrace.analyze.pages.on_terminal import show

        several = self._kind.several or len(self._reports) > 1
        show(self._module("texts").parts(self._reports), console, several=several)

    def _write(self) -> list[str]:
        arguments = self._arguments
        tasks = (
            *wanted(arguments.json, self._write_json),
            *wanted(arguments.csv, self._write_csv),
            *wanted(getattr(arguments, "figures", None), self._write_figures),
            *self._more,
            *wanted(self._html, self._write_html),
        )
        return write_all(
            tasks,
            debug=arguments.debug,
            making=Bar(wanted=not arguments.quiet).making,
            then=Afterwards(self._kind.following, quiet=arguments.quiet),
        )

    def _module(self, name: str) -> Any:
        return import_module(f"{self._kind.package}.{self._kind.modules.get(name, name)}")

    def _write_json(self, place: str) -> None:
        write_record(self._module("document").document(self._reports, *self._chosen), place)

    def _write_csv(self, folder: Path) -> None:
        from vmtrace.analyze.tables.csv_files import write_tables

        write_tables(self._module("document").csv_tables(self._reports), self._provenance, folder)

    def _write_figures(self, folder: Path) -> None:
        from vmtrace.analyze.charts.on_paper import write_charts

        write_charts(self._charts, folder)

    def _write_html(self, path: Path) -> None:
        from vmtrace.analyze.pages.write import write_report_page

        write_report_page(self._module("page").page_of(self._reports, self._charts, self._provenance), path)

    @cached_property
    def _charts(self) -> "list[Chart]":
        charts: list[Chart] = self._module("charts").charts(self._reports, *self._chosen)
        return charts

    @cached_property
    def _provenance(self) -> object:
        return self._module("document").provenance(self._reports)


def _default_page(arguments: Any) -> Path | None:
    """Who asks for nothing gets the page, in the folder of the one run it is about."""
    asked = any((arguments.csv, arguments.figures, arguments.json))
    if asked or len(arguments.runs) != 1:
        return None
    from vmtrace.analyze.read.records.run_folder import inside_or_new

    place = inside_or_new(arguments.runs[0], "report.html")
    if place is None:
        raise CommandError(f"{arguments.runs[0]}/report.html points outside the run folder: give --html FILE")
    return place
