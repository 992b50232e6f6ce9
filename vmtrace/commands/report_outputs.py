"""What a report on runs of one kind prints and writes: for storage, queues and swarms alike.

A kind is a package of `analyze` with the modules `human` (`show`), `document` (`document`, `write_csv`, `provenance`),
`page` (`write_page_of`) and `charts` (`charts`). Each is imported only when its output is asked for.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmtrace.commands.one_screen import on_one_screen
from vmtrace.commands.outputs import answer, opened, printed, wanted, write_all
from vmtrace.errors import CommandError
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.charts.chart import Chart


def with_default(arguments: argparse.Namespace) -> argparse.Namespace:
    """Who asks for nothing gets the page, in the folder of the one run it is about."""
    asked = any((arguments.html, arguments.csv, arguments.figures, arguments.json))
    if asked or len(arguments.runs) != 1:
        return arguments
    from vmtrace.analyze.read.records.run_folder import inside_or_new

    place = inside_or_new(arguments.runs[0], "report.html")
    if place is None:
        raise CommandError(f"{arguments.runs[0]}/report.html points outside the run folder: give --html FILE")
    return argparse.Namespace(**{**vars(arguments), "html": place})


class Outputs:
    """The outputs of one command. Each that fails gets a line of error; the others are still made."""

    def __init__(
        self, kind: str, reports: Sequence[object], arguments: argparse.Namespace, *, piped_width: int = 160
    ) -> None:
        self._kind = kind
        self._reports = list(reports)
        self._arguments = arguments
        self._piped_width = piped_width
        self._page: Path | None = None
        """Where the page is, once it is written."""

    def print(self) -> list[str]:
        """The human answer on standard output; returns what went wrong."""
        show: Callable[[Console], None] = partial(self._module("human").show, self._reports)
        if not self._arguments.all:
            show = on_one_screen(show)
        return printed(show, no_color=self._arguments.no_color, piped_width=self._piped_width)

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

    def _module(self, name: str) -> Any:
        return import_module(f"{self._kind}.{name}")

    def _write_json(self, place: str) -> None:
        from vmtrace.analyze.words.document import as_bytes

        content = as_bytes(self._module("document").document(self._reports))
        with opened(place) as write:
            write(content)

    def _write_csv(self, folder: Path) -> None:
        self._module("document").write_csv(self._reports, folder)

    def _write_figures(self, folder: Path) -> None:
        from vmtrace.analyze.charts.on_paper import write_charts

        write_charts(self._charts, folder)

    def _write_html(self, path: Path) -> None:
        provenance = self._module("document").provenance(self._reports)
        self._module("page").write_page_of(self._reports, self._charts, provenance, path)
        self._page = path

    @cached_property
    def _charts(self) -> "list[Chart]":
        charts: list[Chart] = self._module("charts").charts(self._reports)
        return charts
