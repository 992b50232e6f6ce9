"""`vmtrace compare`: read both captures, compare, print, write. Owns the order of these and the exit status."""

import argparse
import errno
import os
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.options import (
    add_csv,
    add_display,
    add_figures,
    add_json,
    add_keylog,
    add_oversize_abs,
    new_parser,
)
from vmtrace.commands.outputs import Afterwards, Making, printed, wanted, write_all, write_record
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.compare.comparison import Comparison
    from vmtrace.analyze.trace import Trace

_FOR_RUNS = {Kind.RUN: "vmtrace compare-runs", Kind.STORAGE_RUN: "vmtrace storage report"}
_EXAMPLES = """\
  vmtrace compare sender.pcap receiver.pcap
      loss, one-way delay and located pauses of each connection, and the clocks
  vmtrace compare vm.pcap host.pcap --json compared.json --figures figures
      everything for programs; delay and time between packets drawn
  vmtrace compare RUN/packets/sender/0001-data.pcap RUN/packets/receiver/0001-data.pcap
      a transfer of a run folder
  vmtrace compare client.pcap server.qlog --keylog keys.log
      a capture against what an endpoint of QUIC logged itself
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace compare`."""
    what = "Match two captures of the same transfers: exact loss, one-way delay, clock offset and skew, located pauses."
    parser = new_parser("compare", "SENDER RECEIVER", what, _EXAMPLES)
    parser.add_argument("sender", metavar="SENDER", type=Path, help="capture of one end, usually the sender's")
    parser.add_argument(
        "receiver", metavar="RECEIVER", type=Path, help="capture of the other end, or a qlog of an endpoint"
    )
    add_keylog(parser)
    add_oversize_abs(parser, "locate pauses from this many milliseconds on (default: adaptive)")
    add_display(parser)
    files = parser.add_argument_group("output files")
    add_json(files)
    add_csv(files, "connections, pauses, clock steps")
    add_figures(files, "one-way delay and time between packets at both ends (PNG, SVG, CSV) in this folder")
    return parser


def run(request: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    from vmtrace.analyze.compare.comparison import NothingInCommonError, compare
    from vmtrace.analyze.compare.findings import with_findings
    from vmtrace.analyze.compare.qlog import is_qlog
    from vmtrace.commands.thresholds import check_oversize_abs

    check_oversize_abs(request.oversize_abs)
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


def _with_endpoint(request: argparse.Namespace) -> int:
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
    tasks = wanted(request.json, partial(write_record, document(found)))
    failures += write_all(tasks, debug=request.debug, making=_making(request), then=_afterwards(request))
    return Exit.FAILED if failures else Exit.DONE


def _read(path: str, request: argparse.Namespace, bar: Bar) -> "Trace":
    from vmtrace.analyze.trace import Options, TraceError, read

    options = Options(oversize_abs_ms=request.oversize_abs, keep_input=True, datagrams=True, key_log=request.keylog)
    try:
        # A folder stands for all its captures elsewhere; here one of them is one end.
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return read(path, options=options, progress=bar)
    except (TraceError, OSError) as error:
        if request.debug:
            traceback.print_exc()
        raise CommandError(describe(error)) from error


def _write(comparison: "Comparison", request: argparse.Namespace) -> list[str]:
    """Every file asked for; returns one line for each that failed."""
    tasks = (
        *wanted(request.json, partial(_write_json, comparison)),
        *wanted(request.csv, partial(_write_csv, comparison)),
        *wanted(request.figures, partial(_write_figures, comparison)),
    )
    return write_all(tasks, debug=request.debug, making=_making(request), then=_afterwards(request))


def _making(request: argparse.Namespace) -> Making:
    return Bar(wanted=not request.quiet).making


def _afterwards(request: argparse.Namespace) -> Afterwards:
    return Afterwards("vmtrace fields", quiet=request.quiet)


def _write_json(comparison: "Comparison", place: str) -> None:
    from vmtrace.analyze.compare.document import document

    write_record(document(comparison), place)


def _write_csv(comparison: "Comparison", folder: Path) -> None:
    from vmtrace.analyze.compare.document import write_csv

    write_csv(comparison, folder)


def _write_figures(comparison: "Comparison", folder: Path) -> None:
    from vmtrace.analyze.charts.on_paper import write_charts
    from vmtrace.analyze.compare.figures import charts

    write_charts(charts(comparison), folder)
