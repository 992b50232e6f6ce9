"""The whole command line, with help and completion, by typer. Each subcommand is a module of `vmtrace.commands`."""

import os
import sys
from typing import Annotated

import typer

from vmtrace.commands import rooms
from vmtrace.commands.analyze import analyze
from vmtrace.commands.compare import EXAMPLES as COMPARE_EXAMPLES
from vmtrace.commands.compare import compare
from vmtrace.commands.compare_runs import EXAMPLES as COMPARE_RUNS_EXAMPLES
from vmtrace.commands.compare_runs import compare_runs
from vmtrace.commands.report import EXAMPLES as REPORT_EXAMPLES
from vmtrace.commands.report import report
from vmtrace.errors import Exit, complain

app = typer.Typer(
    name="vmtrace",
    help="Packet-level network trace analyzer: what crossed the wire, measured exactly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(no_args_is_help=True)(analyze)
app.command(no_args_is_help=True, epilog=COMPARE_EXAMPLES)(compare)
app.command(no_args_is_help=True, epilog=REPORT_EXAMPLES)(report)
app.command(no_args_is_help=True, epilog=COMPARE_RUNS_EXAMPLES)(compare_runs)

# Wrong usage, by the name that every typer has for it (its base class moved between versions).
_ParserError: type[Exception] = typer.BadParameter.__mro__[1]


def _print_version(wanted: bool) -> None:
    if wanted:
        from analyze.trace import version

        print(f"vmtrace {version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Packet-level network trace analyzer: what crossed the wire, measured exactly."""


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit status. Wrong usage is told of here; what the command raises is raised."""
    _register_rooms(arguments)
    try:
        status = app(arguments, prog_name="vmtrace", standalone_mode=False) or Exit.DONE
    except _ParserError as error:
        return _usage(error, arguments)
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            return Exit.DONE  # whoever reads the help has had enough
        raise
    except typer.Abort:
        raise KeyboardInterrupt from None
    if status == Exit.INTERRUPTED and not isinstance(status, Exit):
        # A newer typer's answer to Ctrl-C; a command that was interrupted, and said so, returns an `Exit`.
        raise KeyboardInterrupt
    return status


def _register_rooms(arguments: list[str]) -> None:
    """Describe the subcommands of other rooms: whole where help or completion needs it, else with their line alone."""
    # Shells give the words in one of these two; the first is `vmtrace`.
    completed = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()
    for name, command in rooms.COMMANDS.items():
        if name in arguments[:1] + completed[1:2]:
            from vmtrace.commands.from_argparse import add_command

            add_command(app, name, command.parser(name))
        else:
            app.command(name, help=command.help)(_never_called)


def _never_called() -> None:
    raise AssertionError("a subcommand of another room is run by its own parser")


def _usage(error: Exception, arguments: list[str]) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        # Its message is the help, which a newer typer has printed already.
        text = str(getattr(error, "message", ""))
        print(text, file=sys.stderr) if text else None
        return Exit.USAGE
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    names = (command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands)
    known = {name.replace("_", "-") for name in names}
    command = context.command_path if context is not None else " ".join(["vmtrace", *known.intersection(arguments[:1])])
    complain(f"{message} (see {command} --help)")
    return Exit.USAGE
