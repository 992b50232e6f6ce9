"""Options that mean the same in several subcommands, each declared once; and the parser that they are added to.

The parser of a command that must start at once: argparse makes a formatter for each option that it is given, and by
itself measures the terminal for each.
"""

import argparse
from functools import partial
from pathlib import Path

from capture.options import above

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
