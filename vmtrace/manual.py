"""`python -m vmtrace.manual`: the manual page `vmtrace.1`, made from the argparse tree: what helps say, and no more.

Packages install it; a new subcommand or option needs nothing here.
"""

import argparse
import re
import sys
from collections.abc import Iterator

from vmtrace.command_line import every_parser, tree
from vmtrace.commands.rooms import COMMANDS
from vmtrace.errors import Exit

_STATUSES = {
    Exit.DONE: "Done.",
    Exit.FAILED: "It could not do (all of) its job.",
    Exit.USAGE: "Wrong usage.",
    Exit.CROSSED: "Done, but a threshold of --fail-if was crossed.",
    Exit.INTERRUPTED: "Stopped by Ctrl-C or SIGTERM; what was measured until then was written.",
}


def page(version: str) -> str:
    """The whole page, in roff with the macros of man(7)."""
    root = tree()
    lines = [
        f'.TH VMTRACE 1 "" "vmtrace {_escaped(version)}" "User Commands"',
        ".nh",
        ".SH NAME",
        r"vmtrace \- packet-level network trace analyzer",
        ".SH SYNOPSIS",
        r".B vmtrace \fICOMMAND\fR ...",
        ".SH DESCRIPTION",
        _escaped(root.description or ""),
        ".SH OPTIONS",
        *_options(root),
        ".SH COMMANDS",
    ]
    for name, command in COMMANDS.items():
        lines += [f'.SS "vmtrace {_escaped(name)}"', _escaped(command.help), *_command(name)]
    lines.append(".SH EXIT STATUS")
    for status, what in _STATUSES.items():
        lines += [".TP", f".B {int(status)}", _escaped(what)]
    return "\n".join(lines) + "\n"


def _command(name: str) -> Iterator[str]:
    first, *below = every_parser(COMMANDS[name].parser(name))
    for parser in below or [first]:
        if below:
            yield from (".PP", rf"\fB{_escaped(parser.prog)}\fR", ".br", _escaped(parser.description or ""))
        yield from _options(parser)
        examples = [line for line in (parser.epilog or "").splitlines() if line.startswith("  ")]
        if examples:
            yield from (".PP", "Examples:", ".PP", ".nf", *map(_escaped, examples), ".fi")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = parser._get_formatter()  # noqa: SLF001 - argparse expands the defaults in helps, and only so
    for action in parser._actions:  # noqa: SLF001 - nor has it a public list of options
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:  # noqa: SLF001
            continue
        yield ".TP"
        yield rf"\fB{_escaped(_invocation(action))}\fR"
        yield _escaped(" ".join(formatter._expand_help(action).split())) if action.help else ""  # noqa: SLF001


def _invocation(action: argparse.Action) -> str:
    shown = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    value = shown if isinstance(shown, str) else " ".join(shown)
    if not action.option_strings:
        return value
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def _escaped(text: str) -> str:
    """As roff shows it: no control lines, no escapes, hyphens that can be copied."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("\n", " ")
    return re.sub(r"^([.'])", r"\\&\1", plain)


if __name__ == "__main__":
    from vmtrace.analyze.trace import version

    sys.stdout.write(page(version()))
