"""The one place where the command speaks of trouble: one line on standard error, and the exit status.

0    done
1    could not do (all of) its job
2    wrong usage
3    done, but a --fail-if threshold was crossed
130  stopped by Ctrl-C; what was measured until then was written
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from vmtrace.analyze.words.units import printable


class Exit(IntEnum):
    """Exit statuses."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CROSSED = 3
    INTERRUPTED = 130


class CommandError(Exception):
    """The command cannot do its job; the message is what the user reads."""


class UsageError(Exception):
    """The command was called wrongly; the message is what the user reads."""


def complain(message: str) -> None:
    """Print one line of trouble."""
    # A user who closed standard error does not want to hear of it.
    try:
        print(f"vmtrace: {printable(' '.join(message.split()))}", file=sys.stderr)
    except (OSError, ValueError):
        return


def describe(error: BaseException) -> str:
    """An exception as one line: what and where, without Python's decoration."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return "not enough memory"
    return str(error) or type(error).__name__


@contextmanager
def guarded_output() -> Iterator[None]:
    """End quietly when whoever reads our output (`head`, a pager) has had enough; other failures are raised once."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # Python flushes standard output once more at exit, which would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise
