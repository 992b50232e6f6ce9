"""The `vmtrace` command: what `vmtrace.command_line` runs, its trouble as one line, and the exit status."""

import atexit
import codecs
import os
import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from itertools import pairwise
from typing import NoReturn

from vmtrace import command_line
from vmtrace.commands.outputs import answer
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe

_PLACES = frozenset({"--json", "--csv", "--parquet", "--figures", "--report", "--html"})
"""Options of all subcommands that say where to write."""
_PLAIN = "vmtrace-plain"
_STAND_INS = dict(zip("→←…×–—−µ·≤≥±≈─━", "><~x---u.<>~~--", strict=True))  # noqa: RUF001 - the letters that are meant


def main() -> None:
    """Run the command line and exit."""
    _prepare_standard_output()
    if "_ARGCOMPLETE" in os.environ:
        from vmtrace.completion import answer_shell

        answer_shell(os.environ.get("COMP_LINE", ""))
    status = run(sys.argv[1:])
    try:
        with answer():
            pass  # what is printed still has to get out
    except CommandError as error:
        if status != Exit.FAILED:  # else it has been told of
            complain(str(error))
        status = Exit.FAILED
    _leave(status)


def _leave(status: int) -> NoReturn:
    """End the process. Before it ends by itself, Python takes apart all that it has loaded: a tenth of what a small
    capture takes. What waits for the end is done first; other threads are waited for, unless somebody pressed Ctrl-C;
    the memory goes back at once.
    """
    if threading.active_count() > 1 and status != Exit.INTERRUPTED:
        sys.exit(status)
    atexit._run_exitfuncs()  # noqa: SLF001 - it has no public name, and some of them remove files
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
    os._exit(status)


def _prepare_standard_output() -> None:
    if sys.stdout is None:
        # The user closed it. What takes its number now is no file of ours, and cannot be written to either.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    elif isinstance(sys.stdout, TextIOWrapper):
        # Not every terminal knows every letter: another for one is better than no answer.
        codecs.register_error(_PLAIN, _plain)
        sys.stdout.reconfigure(errors=_PLAIN)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for letters that the output cannot show: one each, so that columns stay in line."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_STAND_INS.get(letter, "?") for letter in letters), error.end


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit status. No traceback leaves this without `--debug`."""
    try:
        _check_places(arguments)
        return command_line.run(arguments)
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


def _check_places(arguments: list[str]) -> None:
    """Raises `UsageError` for an output without a name (`--csv "$FOLDER"`), which a path would take for this folder."""
    for argument, following in pairwise([*arguments, "-"]):
        option, equals, value = argument.partition("=")
        if option in _PLACES and not (value if equals else following):
            raise UsageError(f"{option}: expected a file or folder name, not an empty one")


def _unexpected(error: Exception) -> str:
    if isinstance(error, OSError | MemoryError):
        return describe(error)
    if isinstance(error, ModuleNotFoundError):
        from vmtrace.missing import line_of

        if (line := line_of(error)) is not None:
            return line
    return f"{type(error).__name__}: {describe(error)} (a defect: please report it with the output of --debug)"
