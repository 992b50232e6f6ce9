"""`vmtrace compare`: its options. What it does with them is `vmtrace.commands.run_compare`."""

import argparse
from pathlib import Path

from vmtrace.commands.options import (
    add_csv,
    add_display,
    add_figures,
    add_json,
    add_keylog,
    add_oversize_abs,
    filled,
    new_parser,
)

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


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    from vmtrace.commands.run_compare import Request
    from vmtrace.commands.run_compare import run as run_compare

    return run_compare(filled(Request, arguments, oversize_abs_ms=arguments.oversize_abs))
