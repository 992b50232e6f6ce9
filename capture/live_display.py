"""What moves on a terminal while something takes long: bars where rich is installed, else one line that is rewritten.

All rooms show their progress through this module, so that it looks and behaves alike: on standard error, at most some
ten times a second, cut to the width of the terminal, gone at the end, and silent where nobody looks or standard error
is closed. What each room says is its own affair. Standard library only: rich is used where it happens to be installed.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Protocol, TextIO

from vmtrace.formats.quantities import shown_decimal_bytes, shown_rate, shown_s

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY_S = 0.1


class Bar(Protocol):
    """One line that moves. After the display is closed, calls change nothing."""

    def show(self, description: str | None = None, done: float | None = None, words: str | None = None) -> None:
        """Say what it is about, how much of its total is done, and what stands behind it; None leaves it as it is."""

    def restart(self, description: str, total: float | None, words: str = "") -> None:
        """Begin anew, with another total; without one, only that something goes on can be shown."""

    def remove(self) -> None:
        """Take it away."""


class LiveDisplay(Protocol):
    """Lines that stay, and bars beneath them."""

    def say(self, line: str) -> None:
        """A line that stays."""

    def bar(self, description: str, total: float | None = None, words: str = "") -> Bar:
        """One more line that moves."""

    def close(self) -> None:
        """Take all bars away."""


def is_terminal(stream: TextIO | None = None) -> bool:
    """True if a person may look: standard error (or the stream) is a terminal."""
    return (stream or sys.stderr).isatty()


def live_display(stream: TextIO | None = None) -> LiveDisplay:
    """The display for standard error, or for another stream; lines alone where it is no terminal."""
    stream = stream or sys.stderr
    if not stream.isatty():
        return Lines(stream)
    if importlib.util.find_spec("rich") is not None:
        return RichDisplay()
    return RewrittenDisplay(stream)


def amount_bytes(done_bytes: float, total_bytes: float | None, elapsed_s: float) -> str:
    """`2.5 of 10 MB, 40 Mbit/s, 1.5 s left`, as far as it is known."""
    of = "" if total_bytes is None else f" of {shown_decimal_bytes(total_bytes)}"
    text = f"{shown_decimal_bytes(done_bytes)}{of}"
    if done_bytes > 0 and elapsed_s > 0:
        text += f", {shown_rate(8 * done_bytes / elapsed_s)}"
    return text + _left(done_bytes, total_bytes, elapsed_s)


def amount(done: float, total: float | None, elapsed_s: float) -> str:
    """`12 of 400, 3 min 20 s left`, as far as it is known."""
    of = "" if total is None else f" of {total:,.0f}"
    return f"{done:,.0f}{of}{_left(done, total, elapsed_s)}"


def _left(done: float, total: float | None, elapsed_s: float) -> str:
    if total is None or not 0 < done < total or elapsed_s <= 0:
        return ""
    return f", {shown_s(elapsed_s * (total - done) / done)} left"


class Every:
    """True at most once in so many seconds: `if every(): draw()`."""

    def __init__(self, seconds: float = _EVERY_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._last_s = clock()

    def __call__(self) -> bool:
        """True if the time has come."""
        now_s = self._clock()
        if now_s - self._last_s < self._seconds:
            return False
        self._last_s = now_s
        return True


def put(text: str, stream: TextIO | None = None) -> None:
    """Write at once. Who closed the terminal or the log does not end the work by it."""
    with suppress(OSError, ValueError):
        stream = stream or sys.stderr
        stream.write(text)
        stream.flush()


# --- the forms ---


class _NoBar:
    """Nobody looks."""

    def show(self, description: str | None = None, done: float | None = None, words: str | None = None) -> None:
        """Nothing is shown."""

    def restart(self, description: str, total: float | None, words: str = "") -> None:
        """Nothing is shown."""

    def remove(self) -> None:
        """Nothing is shown."""


class Lines:
    """A log: lines that stay, and nothing that moves."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def say(self, line: str) -> None:
        """A line that stays."""
        put(f"{line}\n", self._stream)

    def bar(self, description: str, total: float | None = None, words: str = "") -> Bar:  # noqa: ARG002 - of the contract
        """Nothing moves in a log."""
        return _NoBar()

    def close(self) -> None:
        """There is nothing to take away."""


class RewrittenLine:
    """One line of a terminal, written anew each time. A line that would wrap is cut: it could not be rewritten."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._shown = 0

    def show(self, line: str) -> None:
        """This line in the place of the one before."""
        line = line[: shutil.get_terminal_size().columns - 1]
        put(f"\r{line:<{self._shown}}", self._stream)
        self._shown = len(line)

    def clear(self) -> None:
        """Leave an empty line behind."""
        if self._shown:
            self.show("")
            put("\r", self._stream)


class _RewrittenBar:
    """A bar as words: description, share done, what stands behind it."""

    def __init__(self, line: RewrittenLine, description: str, total: float | None, words: str) -> None:
        self._line = line
        self._every = Every(1.0)
        self._description, self._total, self._done, self._words = description, total, 0.0, words

    def show(self, description: str | None = None, done: float | None = None, words: str | None = None) -> None:
        """Once a second."""
        self._description = self._description if description is None else description
        self._done = self._done if done is None else done
        self._words = self._words if words is None else words
        if self._every():
            share = f" {self._done / self._total:.0%}" if self._total else ""
            self._line.show(f"{self._description}{share}, {self._words}".rstrip(", "))

    def restart(self, description: str, total: float | None, words: str = "") -> None:
        """Begin anew."""
        self._description, self._total, self._done, self._words = description, total, 0.0, words

    def remove(self) -> None:
        """Take the line away."""
        self._line.clear()


class RewrittenDisplay:
    """A terminal without rich. Bars share one line: the last that moved has it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._line = RewrittenLine(stream)

    def say(self, line: str) -> None:
        """A line that stays, above the one that moves."""
        self._line.clear()
        put(f"{line}\n", self._stream)

    def bar(self, description: str, total: float | None = None, words: str = "") -> Bar:
        """It has the line from its first move on."""
        return _RewrittenBar(self._line, description, total, words)

    def close(self) -> None:
        """Leave an empty line."""
        self._line.clear()


class RichDisplay:
    """A terminal with rich. `console` is where it draws: standard error."""

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.console: Console = console or Console(stderr=True, highlight=False)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[words]}", markup=False),
        )
        self.progress = Progress(*columns, TimeElapsedColumn(), console=self.console, transient=True)

    def say(self, line: str) -> None:
        """A line that stays, above the bars."""
        with suppress(OSError, ValueError):
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def bar(self, description: str, total: float | None = None, words: str = "") -> Bar:
        """One more bar, at the bottom."""
        task = self.progress.add_task(description, total=total, words=words)
        self.progress.start()
        return _RichBar(self.progress, task)

    def close(self) -> None:
        """Take all away."""
        with suppress(OSError, ValueError):
            self.progress.stop()


class _RichBar:
    """A task of rich; rich itself draws ten times a second."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task
        self._there = True

    def show(self, description: str | None = None, done: float | None = None, words: str | None = None) -> None:
        """Drawn at the next turn of rich."""
        fields: dict[str, Any] = {} if words is None else {"words": words}
        if self._there:
            self._progress.update(self._task, description=description, completed=done, **fields)

    def restart(self, description: str, total: float | None, words: str = "") -> None:
        """Begin anew."""
        if self._there:
            self._progress.reset(self._task, total=total, description=description, words=words)

    def remove(self) -> None:
        """Take it away."""
        if self._there:
            self._progress.remove_task(self._task)
        self._there = False
