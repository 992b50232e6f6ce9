"""The `vmtrace` command: run, exit status. Plain command lines are read by `commands.plain`, all others by typer.

Loading typer takes far longer than analysing a small capture, so it is loaded only where it is needed.
"""

import sys

from vmtrace.commands import plain
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit status. No traceback leaves this without `--debug`."""
    try:
        return _run(arguments)
    except UsageError as error:
        complain(str(error))
        return Exit.USAGE
    except KeyboardInterrupt:
        complain("interrupted")
        return Exit.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line of defence: a user never reads a traceback
        complain(str(error) if isinstance(error, CommandError) else _unexpected(error))
        if "--debug" in arguments:
            import traceback

            traceback.print_exc()
        return Exit.FAILED


def _run(arguments: list[str]) -> int:
    request = plain.parse(arguments)
    if request is None:
        return _run_other(arguments)
    from vmtrace.commands import analysis

    return analysis.run(request)


def _run_other(arguments: list[str]) -> int:
    """Subcommands of other rooms, and whatever else typer must read."""
    from vmtrace.commands import rooms

    if arguments and arguments[0] in rooms.COMMANDS and not rooms.asks_for_help(arguments):
        return rooms.run(arguments[0], arguments[1:])
    from vmtrace import parser

    return parser.run(arguments)


def _unexpected(error: Exception) -> str:
    if isinstance(error, OSError | MemoryError):
        return describe(error)
    return f"{type(error).__name__}: {describe(error)} (a defect: please report it with the output of --debug)"
