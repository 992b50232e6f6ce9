"""Options that mean the same in several subcommands, each declared once; and the parser that they are added to.

The parser of a command that must start at once: argparse makes a formatter for each option that it is given, and by
itself measures the terminal for each.
"""

import argparse
from functools import partial
from pathlib import Path

from vmtrace.capture.options import above

_LONGEST_MS = 1e12
_PLAIN = partial(argparse.RawDescriptionHelpFormatter, width=80)


def new_parser(name: str, operands: str, description: str, examples: str) -> argparse.ArgumentParser:
    """An empty parser of `vmtrace NAME`; `examples` are lines of their own, indented by two."""
    return argparse.ArgumentParser(
        prog=f"vmtrace {name}",
        usage=f"vmtrace {name} [OPTION ...] {operands}",
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=_PLAIN,
        allow_abbrev=False,
    )


def add_file(parser: argparse._ActionsContainer, option: str, what: str, metavar: str = "FILE") -> None:
    """An output that is a file or a folder."""
    parser.add_argument(option, metavar=metavar, type=Path, help=what)


def add_json(parser: argparse._ActionsContainer) -> None:
    """Everything for a program."""
    parser.add_argument(
        "--json", metavar="OUT|-", help="write everything measured as JSON (- is standard output), and print no table"
    )


def add_oversize_abs(parser: argparse._ActionsContainer, what: str) -> None:
    """A fixed length instead of the adaptive rule for pauses."""
    parser.add_argument("--oversize-abs", metavar="MS", type=above(0, _LONGEST_MS), help=what)


def add_keylog(parser: argparse._ActionsContainer) -> None:
    """Keys of what is protected in a capture."""
    parser.add_argument(
        "--keylog",
        metavar="FILE",
        help="secrets in NSS's key log format (SSLKEYLOGFILE): open QUIC, and HTTP/2 inside TLS (default: those that a"
        " pcapng file holds)",
    )


def add_endpoint_url(parser: argparse._ActionsContainer) -> None:
    """Where an object store is, if it is not the public one."""
    parser.add_argument(
        "--endpoint-url", metavar="URL", help="server of s3://, gs:// and az:// URLs (default: the provider's)"
    )


def add_display(parser: argparse._ActionsContainer) -> None:
    """What is printed, and how."""
    parser.add_argument("--quiet", "-q", action="store_true", help="print no table and no progress")
    parser.add_argument("--no-color", action="store_true", help="no colour, even on a terminal")
    parser.add_argument("--debug", action="store_true", help="on an error, print its traceback")


def add_service_client(parser: argparse._ActionsContainer) -> None:
    """How a service's own SDK is used."""
    add_ca_bundle(parser)
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="option of the SDK (a wrong name lists them)",
    )


def add_ca_bundle(parser: argparse._ActionsContainer, default: str = "") -> None:
    """Whom TLS trusts."""
    known = f" (default: {default})" if default else ""
    parser.add_argument(
        "--ca-bundle", metavar="FILE", type=Path, help=f"certificate authorities to trust for TLS{known}"
    )


def add_charge_limits(parser: argparse.ArgumentParser, moved: str, table: str) -> None:
    """When a run stops by itself: `moved` says which bytes count, `table` names a built-in table of prices."""
    add = parser.add_argument_group("limits").add_argument
    add("--max-bytes", metavar="SIZE", help=f"move at most so much{moved}")
    add("--max-cost", metavar="AMOUNT", help="stop before the charges by --prices exceed this")
    add("--prices", metavar="NAME|FILE", help=f"table of prices: a TOML file, or {table}")


def add_recording(parser: argparse._ActionsContainer, towards: str) -> None:
    """Where packets are recorded, if they are."""
    parser.add_argument(
        "--interface", metavar="IF", help=f"interface to record (default: the one towards the {towards})"
    )
    parser.add_argument("--no-capture", action="store_true", help="record no packets (needs no rights)")


def add_snap_length(parser: argparse._ActionsContainer) -> None:
    """How much of each packet is recorded."""
    parser.add_argument(
        "--snaplen", metavar="N", help="bytes kept of each packet (default: headers, and complete TLS handshakes)"
    )


def add_recorded_packets(parser: argparse._ActionsContainer) -> None:
    """Which packets of a service are recorded."""
    parser.add_argument(
        "--filter", metavar="BPF", help="packets to record (default: the service's ports, DNS, ICMP and ARP)"
    )


def add_run_output(parser: argparse.ArgumentParser, *, named: bool = True) -> None:
    """What a run prints, and what reports call it."""
    add = parser.add_argument_group("output").add_argument
    if named:
        add("--name", metavar="NAME", help="name of the data set in reports (default: the folder's)")
    add("--json", action="store_true", help="print run.json at the end")
    add("--quiet", "-q", action="store_true", help="print only errors and warnings")
