"""The command line: one argparse tree, whose branches are the parsers of the subcommands (`vmtrace.commands.rooms`).

Only the branch that a command line names is imported and built. Help is formatted by rich-argparse, which is loaded
for help alone; wrong usage is one line.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, cast

from vmtrace.commands.rooms import COMMANDS, Group, RoomCommand
from vmtrace.errors import CommandError, Exit, UsageError, guarded_output

_EXAMPLES = """examples:
  vmtrace analyze trace.pcap                   what each connection did, and what limited it
  vmtrace analyze traces/ --report page.html   the same as a page to open in a browser
  sudo vmtrace demo                            a campaign on this machine, and its report
"""
_OWN = ("analyze", "compare", "report", "compare-runs")
"""Commands that raise `CommandError` for what they expect, and show their help where they are given nothing."""


def run(words: Sequence[str]) -> int:
    """Run one command line; returns the exit status. Raises `UsageError` and whatever the command raises."""
    try:
        return _run(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else Exit.DONE  # help or the version was printed


def _run(words: Sequence[str]) -> int:
    if words[:1] == ["--debug"]:
        return _run([*words[1:2], "--debug", *words[2:]]) if words[1:] else _run(())
    if words and words[0] in COMMANDS:
        return _run_command(words[0], words[1:])
    parser = tree(words)
    dress(parser)
    if not words:
        return _help_instead(parser)
    if not words[0].startswith("-"):
        raise UsageError(_no_command(words))
    parser.parse_args(words)
    raise AssertionError("what is no subcommand is help, the version, or wrong usage")


def tree(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The whole command line; of the subcommands, the one that `words` begin with is there with its options."""

    def branch(*, prog: str, **about: Any) -> argparse.ArgumentParser:
        name = prog.removeprefix("vmtrace ")
        return COMMANDS[name].parser(name) if name in words[:1] else argparse.ArgumentParser(prog=prog, **about)

    parser = _Root(
        prog="vmtrace",
        description="Packet-level network trace analyzer: what crossed the wire, and why it was slow.",
        epilog=_EXAMPLES,
        usage="vmtrace COMMAND ...",
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action=_Version, help="print the version and exit")
    parser.add_argument("--debug", action="store_true", help="with any command: on a defect, print its traceback")
    commands = parser.add_subparsers(
        title="commands",
        dest="vmtrace_command",
        metavar="COMMAND",
        prog="vmtrace",
        parser_class=cast("type[argparse.ArgumentParser]", branch),
    )
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.help)
    return parser


def _no_command(words: Sequence[str]) -> str:
    """What to do about a first word that is no subcommand: often the thing itself, or a slip of the finger."""
    from difflib import get_close_matches
    from shlex import join

    from vmtrace.commands.kinds import COMMANDS_OF, kind_of

    kind = kind_of(words[0])
    if kind is not None:
        return f"{words[0]} is {kind.value}: {COMMANDS_OF[kind]} {join(words)}"
    close = get_close_matches(words[0], COMMANDS, n=1)
    meant = f"; did you mean vmtrace {close[0]}?" if close else f": there are {', '.join(COMMANDS)}"
    return f"no command {words[0]!r}{meant} (see vmtrace --help)"


class _Root(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


class _Version(argparse.Action):
    """Prints the version, which is the engine's: loaded only for this."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_given: object) -> None:
        from vmtrace.analyze.trace import version

        with guarded_output():
            print(f"vmtrace {version()}")
        parser.exit()


def every_parser(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and all beneath it."""
    yield parser
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to its subparsers
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from every_parser(below)


def dress(parser: argparse.ArgumentParser) -> None:
    """Give the help of a parser, and of all beneath it, the look of the others."""
    from vmtrace.help import Formatter

    for one in every_parser(parser):
        one.formatter_class = Formatter


def _run_command(name: str, words: Sequence[str]) -> int:
    command = COMMANDS[name]
    parser = command.parser(name)
    for one in every_parser(parser):
        _raise_usage_errors(one)
    # Rooms have no such option: it is about the last line of defence, `vmtrace.cli`.
    arguments = list(words) if name in _OWN else [word for word in words if word != "--debug"]
    if _asks_for_help(arguments) or (not arguments and name in _OWN):
        dress(parser)
        if not arguments:
            return _help_instead(parser)
    values = parsed(parser, arguments)
    return command.run(values) if name in _OWN else _done(command, values)


def parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line. They may stand between files, where argparse can do that: not with subcommands,
    and not with `--`, which it loses.
    """
    alone = sum(1 for _ in every_parser(parser)) == 1
    return parser.parse_intermixed_args(words) if alone and "--" not in words else parser.parse_args(words)


def _done(command: RoomCommand | Group, arguments: argparse.Namespace) -> int:
    status = int(Exit.DONE)
    try:
        with guarded_output():
            status = command.run(arguments)
    except Exception as error:
        if isinstance(error, _expected_errors()):
            from vmtrace.sender.wire.program import describe

            raise CommandError(describe(error)) from error
        raise
    return status


def _expected_errors() -> tuple[type[Exception], ...]:
    """What rooms raise with a line for the user; anything else is a defect."""
    from vmtrace.capture.errors import CaptureError
    from vmtrace.sender.wire.errors import WireError

    return (OSError, ValueError, RuntimeError, CaptureError, WireError)


def _raise_usage_errors(parser: argparse.ArgumentParser) -> None:
    def error(message: str) -> NoReturn:
        raise UsageError(f"{message} (see {parser.prog} --help)")

    parser.error = error  # type: ignore[method-assign] # the hook that argparse documents, without a class of ours


def _help_instead(parser: argparse.ArgumentParser) -> int:
    parser.print_help(sys.stderr)
    return Exit.USAGE


def _asks_for_help(words: Sequence[str]) -> bool:
    options = list(words)
    if "--" in options:
        options = options[: options.index("--")]
    return not {"-h", "--help"}.isdisjoint(options)
