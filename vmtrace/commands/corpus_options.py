"""Options of the subcommands of `vmtrace corpus`, and how their progress is shown."""

import argparse
import time
from typing import TYPE_CHECKING

from vmtrace.capture.live_display import Bar, LiveDisplay, amount_bytes, live_display
from vmtrace.capture.options import add_quiet
from vmtrace.commands.options import add_endpoint_url, add_memory
from vmtrace.errors import CommandError, complain

if TYPE_CHECKING:
    from vmtrace.corpus.inputs import CapturesFound

MOST_BUCKETS = 65_536


def add_common(parser: argparse.ArgumentParser) -> None:
    """Memory, endpoint, silence."""
    add_memory(parser, "memory of each worker (default: 1GiB)", 1 << 30)
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
