"""`vmtrace report`: read runs, measure their captures, print, write. Owns the order of these and the exit status."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.capture.options import whole
from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.options import add_window, new_parser, window_of
from vmtrace.commands.report_outputs import PAGE_BY_DEFAULT, Outputs, ReportKind, add_outputs
from vmtrace.errors import Exit, UsageError
from vmtrace.missing import REPORTS, require

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.reports.run.results import Choice, RunResults

_KIND = ReportKind("vmtrace.analyze.reports.run", {"charts": "figures", "page": "page.page"}, piped_width=120)
_EXAMPLES = """\
  vmtrace report RUN
      the answer on the terminal, and everything as RUN/report.html
  vmtrace report RUN --figures figures --csv tables
      figures for print (PNG, SVG, and their data), and all tables
  vmtrace report lan ec2 planetlab --html compared.html
      several runs side by side
  vmtrace report RUN --match-sides
      also what both sides' captures say together: exact loss, one-way delay
  vmtrace report RUN --pair 17 --html pair-17.html
      draw the packets of pair 17
  vmtrace report RUN --from 2026-11-20T18:00 --until 2026-11-20T19:00
      an hour of it (UTC)
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace report`."""
    what = "Report on runs of connection pairs: what limited them, throughput, RTT and loss, and the figures."
    parser = new_parser("report", "RUN [RUN ...]", what, _EXAMPLES)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="run folders written by vmtrace send")
    parser.add_argument(
        "--pair",
        metavar="SEQUENCE",
        type=whole(1, 2**63 - 1),
        help="draw the packets of this pair (default: of the one with the lowest data throughput)",
    )
    add_window(parser)
    sides = parser.add_mutually_exclusive_group()
    sides.add_argument(
        "--match-sides",
        action="store_true",
        help="match the packets of both sides' captures: exact loss, one-way delay and where pauses were made; costs"
        " about 6 ms a transfer and 0.2 s for 100,000 packets, once",
    )
    sides.add_argument(
        "--no-match-sides",
        dest="match_sides",
        action="store_false",
        default=False,
        help="do not match them (the default)",
    )
    add_outputs(parser, page=PAGE_BY_DEFAULT)
    return parser


def run(arguments: argparse.Namespace, most_lines: int | None = None) -> int:
    """Do what was asked; returns the exit status.

    `most_lines` of the answer are printed, where others have printed before it; None: what one screen holds.
    """
    from vmtrace.commands.runs import measure_runs, read_runs

    instead = redirect(arguments.runs, Kind.RUN)
    if instead is not None:
        raise UsageError(instead)
    failures = list[str]()
    runs = read_runs(list(dict.fromkeys(arguments.runs)), failures, window_of(arguments))
    if not runs:
        return Exit.FAILED
    require(*REPORTS)
    measured = measure_runs(runs, quiet=arguments.quiet, match_sides=arguments.match_sides)
    choices = _choices(measured, arguments.pair)
    outputs = Outputs(
        _KIND, measured, arguments, chosen=(choices,), show=partial(_show, measured, arguments.all, most_lines)
    )
    failures += outputs.make()
    return Exit.FAILED if failures else Exit.DONE


def _choices(runs: "Sequence[RunResults]", sequence: int | None) -> "list[Choice]":
    """The pair of each run that is drawn. A run without the one asked for shows its own choice, if another has it."""
    from vmtrace.analyze.reports.run.results import NoSuchPairError

    choices: list[Choice] = []
    missing = list[NoSuchPairError]()
    for one in runs:
        try:
            choices.append(one.choose(sequence))
        except NoSuchPairError as error:
            missing.append(error)
            choices.append(one.choose(None))
    if len(missing) == len(runs):
        raise UsageError(f"--pair {missing[0]}")
    return choices


def _show(runs: "Sequence[RunResults]", everything: bool, most_lines: int | None, console: "Console") -> None:
    """The human answer."""
    if not everything:
        from vmtrace.analyze.reports.run import human_short

        human_short.show(runs, console, most_lines or human_short.MOST_LINES)
        return
    from vmtrace.analyze.reports.run import human

    for number, one in enumerate(runs):
        if number:
            console.print()
        human.show(one, console)
    human.show_changes(runs, console)
