"""What `vmtrace watch` does: read, show, save, end with the answer. Owns the order of these and the exit status.

Exit status: 0 the stream ended, or was ended by Ctrl-C, `q` or `--for`; 1 nothing could be read, or the source broke;
2 wrong usage.
"""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from vmtrace.analyze.reports.live.stream import Keeping, Pace, Snapshot, Stream
from vmtrace.analyze.reports.live.window import Window
from vmtrace.analyze.trace import Options, Trace, TraceError
from vmtrace.commands.analysis import check_filter
from vmtrace.commands.exporting import Exporting
from vmtrace.commands.exporting import wanted as exporting_wanted
from vmtrace.commands.outputs import printed
from vmtrace.commands.thresholds import check_oversize_abs
from vmtrace.commands.watch_keys import Keys
from vmtrace.commands.watch_offer import offering
from vmtrace.commands.watch_saving import Saving
from vmtrace.commands.watch_shown import Shown, shown_by
from vmtrace.commands.watch_source import Source, opened
from vmtrace.errors import Exit, complain, describe
from vmtrace.formats.quantities import plural

_WAKE_UP_S = 0.1
_DRAINING_S = 3.0
"""For a source that was asked to end."""


def run(arguments: argparse.Namespace) -> int:
    """Watch until the end; returns the exit status."""
    check_oversize_abs(arguments.oversize_abs)
    if arguments.filter is not None:
        check_filter(arguments.filter)
    try:
        with opened(arguments) as source:
            return _watch(arguments, source)
    except (TraceError, OSError, ValueError) as error:
        complain(describe(error))
        return Exit.FAILED


def _watch(arguments: argparse.Namespace, source: Source) -> int:
    kept_bytes, kept_s = arguments.keep
    keeping = Keeping(arguments.forget_after, arguments.memory, kept_bytes, kept_s)
    options = Options(
        filter=None if source.filters else arguments.filter,
        oversize_abs_ms=arguments.oversize_abs,
        key_log=arguments.keylog,
    )
    stream = Stream(source.path, source.name, options, keeping, idle_s=arguments.until_idle)
    saving = Saving(stream, arguments.save_to)
    exporting = exporting_wanted(arguments)
    shown = shown_by(arguments, source.name)
    window = Window()
    keys = Keys(wanted=shown.is_screen, but_not_stdin=source.path == "-")
    with keys, _signals() as asked, shown, offering(stream):
        follower = _Follower(window, shown, exporting)
        _follow(arguments, stream, keys, asked, saving, follower.show)
        trouble = source.end()
        _drain(stream)
    try:
        trace = stream.finish()
    except (TraceError, OSError) as error:
        complain(trouble or describe(error))
        return Exit.FAILED
    saving.finish()
    problems = [*map(describe, trace.errors), *([trouble] if trouble else [])]
    for problem in problems:
        complain(problem)
    if follower.left:
        complain(f"{plural(follower.left, 'connection')} ended earlier and are not in this answer (--forget-after)")
    if exporting is not None:
        exporting.end(trace)
        problems += [] if exporting.close() else ["metrics were dropped"]
    problems += _answer(trace, shown, arguments)
    return Exit.FAILED if problems else Exit.DONE


class _Asked:
    """What signals ask for."""

    def __init__(self) -> None:
        self.end, self.save = threading.Event(), threading.Event()


@contextmanager
def _signals() -> Iterator[_Asked]:
    """Ctrl-C and SIGTERM end, a second one at once; SIGUSR1 saves."""
    asked = _Asked()

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's arguments
        if asked.end.is_set():
            raise KeyboardInterrupt
        asked.end.set()

    handlers = {signal.SIGINT: end, signal.SIGTERM: end, signal.SIGUSR1: lambda *_: asked.save.set()}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _follow(
    arguments: argparse.Namespace,
    stream: Stream,
    keys: Keys,
    asked: _Asked,
    saving: Saving,
    show: Callable[[Snapshot], None],
) -> None:
    pace, began_s = Pace(arguments.every), time.monotonic()
    while not stream.is_over and not asked.end.is_set():
        key = keys.pressed(_WAKE_UP_S)
        if key == "q":
            return
        if key == "s" or asked.save.is_set():
            asked.save.clear()
            saving.save()
        saving.look()
        if arguments.duration is not None and time.monotonic() - began_s >= arguments.duration:
            return
        if pace.is_due:
            at_s = time.monotonic()
            snapshot = stream.snapshot()
            if snapshot is not None:
                show(snapshot)
            pace.made(time.monotonic() - at_s)


class _Follower:
    """Gives each snapshot to those who show it."""

    def __init__(self, window: Window, shown: Shown, exporting: Exporting | None) -> None:
        self._window, self._shown, self._exporting = window, shown, exporting
        self.left = 0
        """Connections that the end will not have."""

    def show(self, snapshot: Snapshot) -> None:
        """The next one."""
        self.left = snapshot.left + len(snapshot.leaving)
        self._window.take(snapshot)
        self._shown.show(snapshot, self._window)
        if self._exporting is not None:
            self._exporting.show(snapshot)


def _drain(stream: Stream) -> None:
    """What the source wrote before it ended."""
    until_s = time.monotonic() + _DRAINING_S
    while not stream.is_over and time.monotonic() < until_s:
        time.sleep(_WAKE_UP_S / 10)


def _answer(trace: Trace, shown: Shown, arguments: argparse.Namespace) -> list[str]:
    if shown.rest(trace):
        return []
    from vmtrace.analyze.tables import human_table

    with suppress(OSError):
        sys.stderr.flush()
    return printed(lambda console: human_table.show(trace, console, limit=20), no_color=arguments.no_color)
