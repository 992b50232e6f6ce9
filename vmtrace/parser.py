"""The whole command line, with help and completion, by typer. Each subcommand is a module of `vmtrace.commands`."""

import sys
from typing import Annotated

import typer

from vmtrace.commands.analyze import analyze
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
app.command(no_args_is_help=True, epilog=REPORT_EXAMPLES)(report)

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
    try:
        return app(arguments, prog_name="vmtrace", standalone_mode=False) or Exit.DONE
    except _ParserError as error:
        return _usage(error)
    except typer.Abort:
        raise KeyboardInterrupt from None


def _usage(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        # Its message is the help, which a newer typer has printed already.
        text = str(getattr(error, "message", ""))
        print(text, file=sys.stderr) if text else None
        return Exit.USAGE
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    command = context.command_path if context is not None else "vmtrace"
    complain(f"{message} (see {command} --help)")
    return Exit.USAGE
