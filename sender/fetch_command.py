"""The command line of `vmtrace fetch` and of the agent's `fetch`: the receiver's half of a run, on demand."""

from __future__ import annotations

import argparse
from pathlib import Path

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import add_quiet, whole
from vmtrace.sender.command import endpoint_of
from vmtrace.sender.display.choose import choose_display
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.session import Order, fetch
from vmtrace.sender.wire.keys import ENVIRONMENT, load_key
from vmtrace.sender.wire.program import complain

_EXAMPLES = """examples:
  vmtrace fetch run1 --key-file vmtrace.key                   from where the run's receiver was
  vmtrace fetch run1 198.51.100.7 --key-file vmtrace.key      from where it is now

Works for a run that was interrupted or killed, too. Files that are here and complete are not fetched again.
"""


def build_parser() -> argparse.ArgumentParser:
    """All options of `vmtrace fetch`."""
    parser = argparse.ArgumentParser(
        prog="vmtrace fetch",
        description="Fetch the receiver's files of a run (captures, TCP_INFO, host counters) into its folder.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of the run")
    parser.add_argument(
        "host", metavar="HOST", nargs="?", help="name or address of the receiver (default: that of the run)"
    )
    parser.add_argument("--key-file", metavar="FILE", help=f"the receiver's key (or set {ENVIRONMENT})")
    parser.add_argument(
        "--port", metavar="PORT", type=whole(1, 65535), help="port of the receiver (default: that of the run)"
    )
    form = parser.add_mutually_exclusive_group()
    add_quiet(form)
    form.add_argument("--json-lines", action="store_true", help="one JSON object for each event on standard output")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    folder = RunFolder.open(arguments.run)
    try:
        endpoint = endpoint_of(folder, arguments, "there is nothing to fetch")
        display = choose_display(quiet=arguments.quiet, json_lines=arguments.json_lines)
        status = fetch(folder, Order(endpoint, load_key(arguments.key_file)), display, complain)
        if not arguments.quiet and not arguments.json_lines:
            show_afterwards([folder.path], command("vmtrace", "report", folder.path))
        return status
    finally:
        folder.close()
