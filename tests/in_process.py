"""A command line run within the test's own process: what takes the imports of a new one half a second takes
milliseconds here. For tests of what a command answers; those of streams, signals and a crash start a process.
"""

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

Run = Callable[[list[str]], int]


def run_here(
    run: Run, words: Sequence[object], *, folder: Path | None = None, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """`run(words)` in a folder, with variables added; nothing is a terminal, and there is no standard input."""
    command = [str(word) for word in words]
    with _capture() as (out, written), _capture() as (err, complained):
        with _within(folder or Path.cwd(), environment or {}), redirect_stdout(out), redirect_stderr(err):
            status = run(command)
        return subprocess.CompletedProcess(command, status, written(), complained())


def vmtrace_here(*words: object, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """The command `vmtrace`, as `run_here` runs it."""
    from vmtrace.cli import run

    return run_here(run, words, folder=folder)


@contextmanager
def _capture() -> Iterator[tuple[io.TextIOWrapper, Callable[[], str]]]:
    """A stream with a descriptor, as the command may redirect it, and what reads all that was written."""
    with tempfile.TemporaryFile() as file, os.fdopen(os.dup(file.fileno()), "rb") as kept:
        # No letter is an error, as `vmtrace.cli.main` has it.
        stream = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="\n")

        def written() -> str:
            stream.flush()
            kept.seek(0)
            return kept.read().decode()

        yield stream, written


@contextmanager
def _within(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    here, variables, stdin = Path.cwd(), dict(os.environ), sys.stdin
    os.chdir(folder)
    os.environ.update(environment)
    try:
        with Path(os.devnull).open() as sys.stdin:
            yield
    finally:
        sys.stdin = stdin
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(here)
