"""What the one-file agent does: picks the program that its first word names. `vmtrace agent` writes the file.

The programs are imported by name when they are asked for: the sender must not need the receiver to be there.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from vmtrace.formats.provenance import vmtrace_version
from vmtrace.sender.wire.program import complain
from vmtrace.sender.wire.program import main as run_program

_PROGRAMS = {
    "send": ("vmtrace.sender.command", "run a campaign of connection pairs against a receiver"),
    "receive": ("vmtrace.receiver.command", "wait for a sender and receive its transfers"),
    "capture": ("vmtrace.capture.command", "record the packets of an interface"),
    "fetch": ("vmtrace.sender.fetch_command", "fetch the receiver's files of a run into its folder"),
}
_USAGE = 2


def main(words: Sequence[str] | None = None) -> int:
    """Run the program that the command line names; returns the exit status."""
    arguments = list(sys.argv[1:] if words is None else words)
    if not arguments or arguments[0] in {"--help", "-h"}:
        print(_help())
        return 0 if arguments else _USAGE
    if arguments[0] == "--version":
        print(f"vmtrace {vmtrace_version()}")
        return 0
    if arguments[0] not in _PROGRAMS:
        complain(f"{arguments[0]}: the agent has {', '.join(_PROGRAMS)} (see --help)")
        return _USAGE
    program = importlib.import_module(_PROGRAMS[arguments[0]][0])
    return run_program(program.build_parser, program.run, arguments[1:])


def _help() -> str:
    rows = [f"  {name:<9}{what}" for name, (_, what) in _PROGRAMS.items()]
    head = "usage: vmtrace-agent.pyz {" + ",".join(_PROGRAMS) + "} ...   (each has --help)"
    return "\n".join([head, "", *rows])
