"""What `vmtrace compare` does: read both captures, compare, print, write. Owns the order and the exit status."""

import errno
import os
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vmtrace.analyze.trace import Options, Trace, TraceError, read
from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.outputs import Afterwards, Making, opened, printed, wanted, write_all
from vmtrace.commands.thresholds import check_oversize_abs
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.compare.comparison import Comparison
    from vmtrace.analyze.words.document import Record


_FOR_RUNS = {Kind.RUN: "vmtrace compare-runs", Kind.STORAGE_RUN: "vmtrace storage report"}


class Request(NamedTuple):
    """The command line, checked by the parser. Option names as in `vmtrace compare --help`."""

    sender: Path
    receiver: Path
    json: str | None = None
    csv: Path | None = None
    figures: Path | None = None
    oversize_abs_ms: float | None = None
    keylog: str | None = None
    quiet: bool = False
    no_color: bool = False
    debug: bool = False


def run(request: Request) -> int:
    """Do what was asked; returns the exit status."""
    from vmtrace.analyze.compare.comparison import NothingInCommonError, compare
    from vmtrace.analyze.compare.findings import with_findings
    from vmtrace.analyze.compare.qlog import is_qlog

    check_oversize_abs(request.oversize_abs_ms)
    if is_qlog(request.receiver) or is_qlog(request.sender):
        return _with_endpoint(request)
    instead = redirect([request.sender, request.receiver], Kind.CAPTURE, _FOR_RUNS)
    if instead is not None:
        raise UsageError(instead)
    paths = [str(request.sender), str(request.receiver)]
    with Bar([*paths, *paths], wanted=not request.quiet) as bar:
        # Each file is read twice: for its connections, then for their packets.
        traces = [_read(path, request, bar) for path in paths]
        try:
            comparison = with_findings(compare(*traces), *traces)
        except NothingInCommonError as error:
            raise CommandError(str(error)) from None
    if any(trace.interrupted for trace in traces):
        complain("interrupted: a part of a capture cannot be compared")
        return Exit.INTERRUPTED
    failures = list[str]()
    # Who asks for JSON has a program read it, not eyes.
    if not request.quiet and request.json is None:
        from vmtrace.analyze.compare import human

        failures += printed(partial(human.show, comparison), no_color=request.no_color, making=_making(request))
    failures += _write(comparison, request)
    return Exit.FAILED if failures else Exit.DONE


def _with_endpoint(request: Request) -> int:
    """A capture and a log of an endpoint, in either order."""
    from vmtrace.analyze.compare.qlog import QlogError, is_qlog, read_qlog
    from vmtrace.analyze.compare.with_endpoint import NoConnectionError, compare_with_endpoint, document
    from vmtrace.analyze.compare.with_endpoint_human import show

    capture, log = request.sender, request.receiver
    if is_qlog(capture):
        capture, log = log, capture
    if is_qlog(capture):
        raise UsageError("two logs of endpoints: one of both has to be a capture")
    if request.csv is not None or request.figures is not None:
        raise UsageError("--csv and --figures are for two captures; of a capture and a qlog there is --json")
    try:
        endpoint = read_qlog(log)
        with Bar([str(capture)], wanted=not request.quiet) as bar:
            found = compare_with_endpoint(_read(str(capture), request, bar), endpoint)
    except (QlogError, NoConnectionError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(describe(error)) from error
    failures = list[str]()
    if not request.quiet and request.json is None:
        failures += printed(partial(show, found), no_color=request.no_color, making=_making(request))
    tasks = wanted(request.json, partial(_write_record, document(found)))
    failures += write_all(tasks, debug=request.debug, making=_making(request), then=_afterwards(request))
    return Exit.FAILED if failures else Exit.DONE


def _read(path: str, request: Request, bar: Bar) -> Trace:
    options = Options(oversize_abs_ms=request.oversize_abs_ms, keep_input=True, datagrams=True, key_log=request.keylog)
    try:
        # A folder stands for all its captures elsewhere; here one of them is one end.
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return read(path, options=options, progress=bar)
    except (TraceError, OSError) as error:
        if request.debug:
            traceback.print_exc()
        raise CommandError(describe(error)) from error


def _write(comparison: "Comparison", request: Request) -> list[str]:
    """Every file asked for; returns one line for each that failed."""
    tasks = (
        *wanted(request.json, partial(_write_json, comparison)),
        *wanted(request.csv, partial(_write_csv, comparison)),
        *wanted(request.figures, partial(_write_figures, comparison)),
    )
    return write_all(tasks, debug=request.debug, making=_making(request), then=_afterwards(request))


def _making(request: Request) -> Making:
    return Bar(wanted=not request.quiet).making


def _afterwards(request: Request) -> Afterwards:
    return Afterwards("vmtrace fields", quiet=request.quiet)


def _write_json(comparison: "Comparison", place: str) -> None:
    from vmtrace.analyze.compare.document import document

    _write_record(document(comparison), place)


def _write_record(record: "Record", place: str) -> None:
    from vmtrace.analyze.words.document import as_bytes

    content = as_bytes(record)
    with opened(place) as write:
        write(content)


def _write_csv(comparison: "Comparison", folder: Path) -> None:
    from vmtrace.analyze.compare.document import write_csv

    write_csv(comparison, folder)


def _write_figures(comparison: "Comparison", folder: Path) -> None:
    from vmtrace.analyze.charts.on_paper import write_charts
    from vmtrace.analyze.compare.figures import charts

    write_charts(charts(comparison), folder)
