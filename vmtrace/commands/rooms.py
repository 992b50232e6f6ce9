"""The subcommands whose options other rooms define with argparse, because those run without vmtrace, too.

A plain call is parsed and run by argparse itself. Help and shell completion come from typer, so that all subcommands
look alike: `from_argparse` describes the same parser to it. Nothing of a room is imported before it is asked for.
"""

import argparse
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from vmtrace.errors import CommandError, Exit, UsageError, guarded_output


@dataclass(frozen=True, slots=True)
class RoomCommand:
    """A subcommand: the module that has `build_parser` and `run`, and a line for the list of commands."""

    module: str
    help: str

    def parser(self, name: str) -> argparse.ArgumentParser:
        """Its options; wrong usage raises `UsageError`."""
        parser: argparse.ArgumentParser = importlib.import_module(self.module).build_parser()
        parser.prog = f"vmtrace {name}"
        _raise_usage_errors(parser)
        return parser

    @property
    def run(self) -> Callable[[argparse.Namespace], int]:
        """What it does."""
        function: Callable[[argparse.Namespace], int] = importlib.import_module(self.module).run
        return function


COMMANDS = {
    "capture": RoomCommand("capture.command", "Record the packets of an interface with libpcap."),
    "receive": RoomCommand("receiver.command", "Wait for a sender and take its transfers: the far end of a campaign."),
    "send": RoomCommand("sender.command", "Run a campaign of connection pairs against a receiver."),
    "fetch": RoomCommand("sender.fetch_command", "Get the receiver's half of a run into its folder."),
    "agent": RoomCommand("vmtrace.commands.agent", "Write the one-file sender, receiver and capture for a bare VM."),
    "cloudwatch": RoomCommand("cloudwatch.command", "CloudWatch's metrics of a run: fetch, import, publish."),
    "storage": RoomCommand(
        "vmtrace.commands.storage", "Storage services as black boxes: workloads, packets, overhead."
    ),
    "queue": RoomCommand("vmtrace.commands.queue", "Message queues as black boxes: rates, order, latency, duplicates."),
    "lab": RoomCommand("lab.command", "Emulated paths: campaigns with known truth."),
    "demo": RoomCommand("vmtrace.commands.demo", "The whole story on this machine, ending with a report to open."),
}
"""In the order in which they are listed."""


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether a command line wants to be told about instead of done."""
    options = list(arguments)
    if "--" in options:
        options = options[: options.index("--")]
    return "--help" in options


def run(name: str, arguments: Sequence[str]) -> int:
    """Run a subcommand with its arguments; returns the exit status."""
    command = COMMANDS[name]
    parsed = command.parser(name).parse_args([word for word in arguments if word != "--debug"])
    status = int(Exit.DONE)
    try:
        with guarded_output():
            status = command.run(parsed)
    except Exception as error:
        if isinstance(error, _expected_errors()):
            from sender.wire.program import describe

            raise CommandError(describe(error)) from error
        raise
    return status


def _expected_errors() -> tuple[type[Exception], ...]:
    """What rooms raise with a line for the user; anything else is a defect."""
    from capture.errors import CaptureError
    from sender.wire.errors import WireError

    return (OSError, ValueError, RuntimeError, CaptureError, WireError)


def _raise_usage_errors(parser: argparse.ArgumentParser) -> None:
    def error(message: str) -> NoReturn:
        raise UsageError(f"{message} (see {parser.prog} --help)")

    parser.error = error  # type: ignore[method-assign] # the hook that argparse documents, without a class of ours
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to its subparsers
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for word, subparser in action.choices.items():
                subparser.prog = f"{parser.prog} {word}"
                _raise_usage_errors(subparser)
