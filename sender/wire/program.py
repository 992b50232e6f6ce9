"""What the programs of a bare VM have in common: one line for trouble, the exit status, no traceback."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from vmtrace.capture.errors import CaptureError
from vmtrace.sender.wire.errors import WireError

DONE = 0
FAILED = 1
INTERRUPTED = 130


def main(
    build_parser: Callable[[], argparse.ArgumentParser],
    run: Callable[[argparse.Namespace], int],
    words: Sequence[str] | None = None,
) -> int:
    """Parse the command line and run it; 0 done, 1 could not, 2 wrong usage (argparse), 130 interrupted."""
    arguments = build_parser().parse_args(words)
    try:
        return run(arguments)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more at exit, which would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (OSError, ValueError, CaptureError, WireError) as error:
        complain(describe(error))
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last line of defence: a user never reads a traceback
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{'/'.join(Path(where.filename).parts[-2:])}:{where.lineno}"
        complain(f"{type(error).__name__}: {describe(error)} at {place} (a defect: please report this line)")
        return FAILED


def describe(error: BaseException) -> str:
    """An exception as one line: what and where, without Python's decoration."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def complain(message: str) -> None:
    """One line of trouble on standard error."""
    try:
        print(f"vmtrace: {message}", file=sys.stderr)
    except (OSError, ValueError):
        return
