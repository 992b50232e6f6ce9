"""What `vmtrace compare` does: read both captures, compare, print, write. Owns the order and the exit status."""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyze.trace import Options, Trace, TraceError, read
from vmtrace.errors import CommandError, Exit, complain, describe, guarded_output
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from analyze.compare.comparison import Comparison

_STANDARD_OUTPUT = "-"


class Request(NamedTuple):
    """The command line, checked by the parser. Option names as in `vmtrace compare --help`."""

    sender: Path
    receiver: Path
    json: str | None = None
    csv: Path | None = None
    figures: Path | None = None
    oversize_abs_ms: float | None = None
    quiet: bool = False
    no_color: bool = False
    debug: bool = False


def run(request: Request) -> int:
    """Do what was asked; returns the exit status."""
    from analyze.compare.comparison import NothingInCommonError, compare

    paths = [str(request.sender), str(request.receiver)]
    with Bar([*paths, *paths], wanted=not request.quiet) as bar:
        # Each file is read twice: for its connections, then for their packets.
        traces = [_read(path, request, bar) for path in paths]
        try:
            comparison = compare(*traces)
        except NothingInCommonError as error:
            raise CommandError(str(error)) from None
    if any(trace.interrupted for trace in traces):
        complain("interrupted: a part of a capture cannot be compared")
        return Exit.INTERRUPTED
    with guarded_output():
        # Who asks for JSON has a program read it, not eyes.
        if not request.quiet and request.json is None:
            _print(comparison, request)
        failures = _write(comparison, request)
    return Exit.FAILED if failures else Exit.DONE


def _read(path: str, request: Request, bar: Bar) -> Trace:
    try:
        return read(path, options=Options(oversize_abs_ms=request.oversize_abs_ms, keep_input=True), progress=bar)
    except (TraceError, OSError) as error:
        if request.debug:
            traceback.print_exc()
        raise CommandError(describe(error)) from error


def _print(comparison: "Comparison", request: Request) -> None:
    from rich.console import Console

    from analyze.compare import human

    # A pipe or a file has no width; and a table is read best at no more than this.
    width = None if sys.stdout.isatty() else 120
    human.show(comparison, Console(no_color=request.no_color or None, highlight=False, width=width, markup=False))
    sys.stdout.flush()


def _write(comparison: "Comparison", request: Request) -> list[str]:
    """Every file asked for; returns one line for each that failed."""
    failures = list[str]()
    tasks: tuple[tuple[object, Callable[[Comparison, Request], None]], ...] = (
        (request.json, _write_json),
        (request.csv, _write_csv),
        (request.figures, _write_figures),
    )
    for wanted, task in tasks:
        if wanted is None:
            continue
        try:
            task(comparison, request)
        except BrokenPipeError:
            raise
        except OSError as error:
            failures.append(f"cannot write {describe(error)}")
            complain(failures[-1])
            if request.debug:
                traceback.print_exc()
    return failures


def _write_json(comparison: "Comparison", request: Request) -> None:
    from analyze.atomic import writing
    from analyze.compare.document import as_bytes, document

    content = as_bytes(document(comparison))
    if request.json == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with writing(Path(request.json or "")) as out:
        out.write(content)


def _write_csv(comparison: "Comparison", request: Request) -> None:
    from analyze.compare.document import write_csv

    write_csv(comparison, request.csv or Path())


def _write_figures(comparison: "Comparison", request: Request) -> None:
    from analyze.compare.figures import charts
    from analyze.run.chart_print import write_charts

    write_charts(charts(comparison), request.figures or Path())
