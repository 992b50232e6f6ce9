"""How `vmtrace watch` shows a stream: a screen, lines, records for programs, or nothing until the end."""

import argparse
import shutil
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from vmtrace.analyze.reports.live.events import Events
from vmtrace.analyze.reports.live.screen import line, screen
from vmtrace.analyze.reports.live.stream import Snapshot
from vmtrace.analyze.reports.live.window import Window
from vmtrace.analyze.trace import Trace
from vmtrace.analyze.words.document import as_bytes
from vmtrace.capture.live_display import put

if TYPE_CHECKING:
    from rich.live import Live


class Shown:
    """Nothing until the end; others show more."""

    is_screen = False

    def show(self, snapshot: Snapshot, window: Window) -> None:
        """The state of things."""

    def rest(self, trace: Trace) -> bool:  # noqa: ARG002 - of the contract
        """The end; True if nothing more is to be printed."""
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take away what moves."""


class _Lines(Shown):
    """A line at each update that says something new, on standard error; standard output is for the answer."""

    def __init__(self) -> None:
        self._said = ""

    def show(self, snapshot: Snapshot, window: Window) -> None:
        says = line(snapshot, window)
        if says != self._said:
            put(f"{says}\n")
        self._said = says


class _Records(Shown):
    """For programs, on standard output."""

    def __init__(self, horizon_s: float) -> None:
        self._events = Events(horizon_s)

    def show(self, snapshot: Snapshot, window: Window) -> None:
        for event in self._events.of(snapshot, window):
            sys.stdout.buffer.write(as_bytes(event))
        sys.stdout.buffer.flush()

    def rest(self, trace: Trace) -> bool:
        for event in self._events.rest(trace):
            sys.stdout.buffer.write(as_bytes(event))
        sys.stdout.buffer.flush()
        return True


class _Screen(Shown):
    """The whole terminal, until the end."""

    is_screen = True

    def __init__(self, name: str) -> None:
        self._name = name
        self._live: Live | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True, highlight=False), screen=True, auto_refresh=False)
        self._live.__enter__()
        return self

    def show(self, snapshot: Snapshot, window: Window) -> None:
        from rich.text import Text

        width, height = shutil.get_terminal_size()
        text = "\n".join([*screen(self._name, snapshot, window, height - 1, width), "s saves the last packets, q ends"])
        if self._live is not None:
            self._live.update(Text(text, no_wrap=True), refresh=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, value, trace)


def shown_by(arguments: argparse.Namespace, name: str) -> Shown:
    """As the options say."""
    if arguments.json_lines:
        return _Records(arguments.forget_after)
    if arguments.quiet:
        return Shown()
    if arguments.lines or not sys.stderr.isatty():
        return _Lines()
    return _Screen(name)
