"""Options of the subcommands of `vmtrace corpus`, and how their progress is shown."""

import argparse
import time
from typing import TYPE_CHECKING

from vmtrace.capture.live_display import Bar, LiveDisplay, amount_bytes, live_display
from vmtrace.capture.options import add_quiet
from vmtrace.commands.options import add_endpoint_url
from vmtrace.errors import CommandError, complain
from vmtrace.formats.quantities import size_bytes

if TYPE_CHECKING:
    from vmtrace.corpus.inputs import CapturesFound

_LEAST_MEMORY = 128 << 20
MOST_BUCKETS = 65_536


def memory(text: str) -> int:
    """Bytes of `1.5GiB`, `512MiB`."""
    try:
        size = size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < _LEAST_MEMORY:
        raise argparse.ArgumentTypeError(f"{text}: at least 128MiB")
    return size


def add_common(parser: argparse.ArgumentParser) -> None:
    """Memory, endpoint, silence."""
    parser.add_argument(
        "--memory", metavar="SIZE", type=memory, default=1 << 30, help="memory of each worker (default: 1GiB)"
    )
    add_endpoint_url(parser)
    add_quiet(parser)


class StageDisplay:
    """Progress stage by stage: bytes, rate, expected end; on no terminal a line for each stage."""

    def __init__(self, *, wanted: bool) -> None:
        self._live: LiveDisplay | None = live_display() if wanted else None
        self._bar: Bar | None = None
        self._name, self._total, self._done, self._started_s = "", 0, 0, 0.0

    def stage(self, name: str, total_bytes: int) -> None:
        """A stage begins."""
        self._end_stage()
        self._name, self._total, self._done, self._started_s = name, total_bytes, 0, time.monotonic()
        if self._live is not None:
            self._bar = self._live.bar(name, total_bytes or None)

    def done(self, bytes_read: int) -> None:
        """More of it is done."""
        self._done += bytes_read
        self._show(self._done)

    def reading(self, bytes_read: int) -> None:
        """So much of a task that is not done yet has been read."""
        self._show(min(self._done + bytes_read, self._total))

    def close(self) -> None:
        """The run is over."""
        self._end_stage()
        if self._live is not None:
            self._live.close()

    def _show(self, done_bytes: int) -> None:
        if self._bar is not None:
            words = amount_bytes(done_bytes, self._total, time.monotonic() - self._started_s)
            self._bar.show(done=done_bytes, words=words)

    def _end_stage(self) -> None:
        elapsed_s = time.monotonic() - self._started_s
        if self._live is not None and self._name and elapsed_s > 2:
            self._live.say(f"{self._name}: {amount_bytes(self._done, None, elapsed_s)}, {elapsed_s:.1f} s")
        if self._bar is not None:
            self._bar.remove()
            self._bar = None
        self._name = ""


def found_inputs(arguments: argparse.Namespace, to_do: str) -> "CapturesFound":
    """Captures that a command names, each readable by its filter; what is none is complained of."""
    from vmtrace.commands.analysis import check_filter
    from vmtrace.corpus import inputs

    if arguments.filter is not None:
        check_filter(arguments.filter)
    found = inputs.find(arguments.files, arguments.endpoint_url)
    for problem in found.problems:
        complain(problem)
    if not found.inputs:
        raise CommandError(f"no captures to {to_do}")
    return found
