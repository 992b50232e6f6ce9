"""`vmtrace report`: its options. What it does with them is `vmtrace.commands.run_report`."""

import argparse
from pathlib import Path

from vmtrace.capture.options import whole
from vmtrace.commands.options import add_window, filled, new_parser, window_of
from vmtrace.commands.report_outputs import PAGE_BY_DEFAULT, add_outputs

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


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    from vmtrace.commands.run_report import Request
    from vmtrace.commands.run_report import run as run_report

    given = {"runs": tuple(arguments.runs), "window": window_of(arguments), "everything": arguments.all}
    return run_report(filled(Request, arguments, **given))
