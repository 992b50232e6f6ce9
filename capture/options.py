"""Options that commands of several rooms have, each declared once; and values that they check alike.

They stand here, on the lowest floor, since sender, receiver and capture run without the rest. What only commands with
all of vmtrace have is in `vmtrace.commands.options`. The words after an option are the command's own.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, Callable

from vmtrace.formats.quantities import duration_s


def add_out(to: argparse._ActionsContainer, what: str, metavar: str = "RUN", **more: Any) -> None:
    """Where results go: a folder or a file; with `type=str` also a place in a store."""
    to.add_argument("--out", metavar=metavar, help=what, **{"type": Path, **more})


def add_plan(to: argparse._ActionsContainer, what: str, **more: Any) -> None:
    """What is done: a built-in plan, or a file."""
    to.add_argument("--plan", metavar="NAME|FILE", help=what, **more)


def add_duration(to: argparse._ActionsContainer, what: str, read: Callable[[str], object] = str) -> None:
    """For how long; both words are understood everywhere."""
    to.add_argument("--for", "--duration", dest="duration", metavar="TIME", type=read, help=what)


def add_resume(to: argparse._ActionsContainer) -> None:
    """A run that goes on; where no folder follows it is the one of `--out`."""
    what = "resume the run in RUN, or in the folder of --out"
    to.add_argument("--resume", metavar="RUN", nargs="?", const="", help=what)


def add_filter(to: argparse._ActionsContainer, what: str, default: str | None = None) -> None:
    """Which packets are read or recorded."""
    to.add_argument("--filter", metavar="BPF", default=default, help=what)


def add_json_printed(to: argparse._ActionsContainer, what: str) -> None:
    """The same for a program, on standard output."""
    to.add_argument("--json", action="store_true", help=what)


def add_interface(to: argparse._ActionsContainer, what: str, *short: str) -> None:
    """Where packets are recorded."""
    to.add_argument("--interface", *short, metavar="IF", help=what)


def add_no_capture(to: argparse._ActionsContainer, what: str = "record no packets (needs no rights)") -> None:
    """No packets at all."""
    to.add_argument("--no-capture", action="store_true", help=what)


def add_quiet(to: argparse._ActionsContainer, what: str = "print only errors and warnings") -> None:
    """How little is printed."""
    to.add_argument("--quiet", "-q", action="store_true", help=what)


def lasting(most_s: float) -> Callable[[str], float]:
    """Reads a time above zero: seconds, or a number with a unit."""
    within = above(0, most_s)

    def read(text: str) -> float:
        try:
            return within(str(duration_s(text)))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number between these."""

    def read(text: str) -> int:
        # int() accepts more than people write, and texts of any length.
        digits = text[1:] if text[:1] in {"-", "+"} else text
        number = int(text) if digits.isdecimal() and len(digits) <= 20 else least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected a whole number from {least} to {most}")
        return number

    return read


def above(least: float, most: float) -> Callable[[str], float]:
    """Reads a number above the one, and not above the other."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least < number <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected a number above {least:g}, at most {most:,g}")
        return number

    return read
