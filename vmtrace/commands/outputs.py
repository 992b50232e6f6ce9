"""How subcommands print and write: each output that fails is told of in one line, and the others are still made."""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

from vmtrace.analyze.read.stores import url_of
from vmtrace.errors import CommandError, complain, describe, guarded_output
from vmtrace.formats import STANDARD_OUTPUT

if TYPE_CHECKING:
    from rich.console import Console

"""Where a document is asked for instead of in a file."""
_NAME = "standard output"
_PAGES = (".html", ".htm")

Place = TypeVar("Place", str, Path)


class Task(NamedTuple):
    """An output that is to be written."""

    place: str | Path
    write: Callable[[], None]


@contextmanager
def answer() -> Iterator[None]:
    """Printing for eyes, all of it out at the end. A reader who has had enough ends it; raises `CommandError` if the
    words cannot be written."""
    try:
        with guarded_output():
            yield
    except OSError as error:
        raise CommandError(f"cannot write {_NAME}: {error.strerror}") from error


Making = Callable[[str], AbstractContextManager[None]]
"""Says what is being made, while it is (`vmtrace.progress.Bar.making`)."""


class _Held(StringIO):
    """What was printed, until all of it is there: a console takes it for standard output."""

    encoding = property(lambda _self: sys.stdout.encoding)

    def isatty(self) -> bool:
        return sys.stdout.isatty()


def printed(
    show: "Callable[[Console], None]", *, no_color: bool, piped_width: int = 120, making: Making | None = None
) -> list[str]:
    """Print the human answer; returns what went wrong, which is told of and keeps nothing else from being made.

    Who looks on sees meanwhile that the answer is being made.
    """
    from rich.console import Console

    class Guarded(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the program here, before files are written and thresholds judged.
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    # A pipe or a file has no width; and a table is read best at no more than this.
    width = None if sys.stdout.isatty() else piped_width
    held = _Held() if making is not None and sys.stderr.isatty() else None
    console = Guarded(file=held, no_color=no_color or None, highlight=False, width=width, markup=False)
    try:
        with answer():
            if held is None or making is None:
                show(console)
            else:
                with making("the answer"):
                    show(console)
                sys.stdout.write(held.getvalue())
    except CommandError as error:
        complain(str(error))
        return [str(error)]
    return []


def wanted(place: Place | None, write: Callable[[Place], None], endpoint_url: str | None = None) -> Iterator[Task]:
    """The writing of an output, if a place for it was given. What has a URL is made here and then put there."""
    if place is None:
        return
    url = url_of(place)
    if url is None:
        yield Task(place, partial(write, place))
    else:
        yield Task(url, partial(_put, url, type(place), write, endpoint_url))


def _put(url: str, kind: Callable[[Path], Place], write: Callable[[Place], None], endpoint_url: str | None) -> None:
    from vmtrace.analyze.read.stores import upload

    upload.write_to(url, lambda local: write(kind(local)), endpoint_url)


class Afterwards(NamedTuple):
    """How a command ends: with the files that it wrote, and the next command to type."""

    following: str = ""
    """Where no page was written, which is to be looked at first."""
    quiet: bool = False


def write_all(
    tasks: Iterable[Task], *, debug: bool, making: Making | None = None, then: Afterwards | None = None
) -> list[str]:
    """Do all of them; returns one line for each that failed. `making` says what is being made, while it is.

    `then` names the files that were written; on standard error, if something was written to standard output.
    """
    failures, written, to_program = list[str](), list[str | Path](), False
    for place, write in tasks:
        # Nothing but the output itself goes where standard output may show.
        piped = str(place) == STANDARD_OUTPUT
        shown = nullcontext() if making is None or piped else making(Path(place).name)
        try:
            with shown, guarded_output() if piped else nullcontext():
                write()
            written += [] if piped else [place]
            to_program |= piped
        except (OSError, ModuleNotFoundError) as error:
            failures.append(_failure(error, place))
            complain(failures[-1])
            if debug:
                import traceback

                traceback.print_exc()
    if then is not None and not then.quiet and written:
        _say(written, then.following, sys.stderr if to_program else sys.stdout)
    return failures


def _say(written: Sequence[str | Path], following: str, to: TextIO) -> None:
    """Which files were written, and the next command: a page is looked at first."""
    from vmtrace.capture.afterwards import browse, show_afterwards

    page = next((place for place in written if str(place).endswith(_PAGES)), None)
    with suppress(CommandError), answer():
        show_afterwards(written, following if page is None else browse(page), to=to)


def _failure(error: OSError | ModuleNotFoundError, place: str | Path) -> str:
    if isinstance(error, OSError):
        cannot = "write" if _is_about(error, place) else f"make {place}:"
        return f"cannot {cannot} {describe(error)}"
    from vmtrace.missing import line_of

    if (line := line_of(error)) is None:
        raise error
    return f"cannot make {place}: {line}"


def _is_about(error: OSError, place: str | Path) -> bool:
    """False where it is an input that made trouble."""
    return error.filename in (None, _NAME) or Path(str(error.filename)).is_relative_to(place)


def write_record(record: Any, place: str) -> None:
    """A document as JSON into a file, or to standard output."""
    from vmtrace.analyze.words.document import as_bytes

    content = as_bytes(record)  # made before the place is touched
    with opened(place) as write:
        write(content)


@contextmanager
def opened(place: str) -> Iterator[Callable[[bytes], object]]:
    """What writes bytes to a file, which is there when it is whole, or to standard output."""
    if place != STANDARD_OUTPUT:
        from vmtrace.analyze.read.atomic import writing

        with writing(Path(place)) as out:
            yield out.write
        return
    try:
        with guarded_output():
            yield sys.stdout.buffer.write
    except OSError as error:
        error.filename = _NAME
        raise
