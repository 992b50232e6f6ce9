"""The display without rich: one line that is rewritten each second on a terminal, a line for each pair in a log."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from typing import Any, Callable, TextIO

from capture.quantities import shown_s
from sender.display.view import RunEnd, RunView
from sender.display.words import LineDisplay, moving_words, pair_words, troubled
from sender.live import Moving

Record = dict[str, Any]
_REWRITTEN_S = 1.0


class PlainDisplay(LineDisplay):
    """Progress on one stream (standard error), the summary on the other (standard output)."""

    def __init__(self, live: TextIO, answers: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._live = live
        self._answers = answers
        self._terminal = live.isatty()
        self._run: RunView | None = None
        self._written_s = clock()

    def started(self, run: RunView) -> None:
        """Say what is going to happen."""
        self._run = run
        super().started(run)

    def moving(self, moving: Moving) -> None:
        """Rewrite the line, once a second."""
        if self._terminal and self._clock() - self._written_s >= _REWRITTEN_S:
            self._written_s = self._clock()
            words = moving_words(self._part, self._part_bytes, moving)
            self._rewrite(", ".join([self._where(), *words, *_left(self._left_s(moving.moved_bytes))]))

    def pair_finished(self, record: Record) -> None:
        """A line in a log; on a terminal the live line is enough, unless something is wrong."""
        super().pair_finished(record)
        if not self._terminal:
            self._say(f"{self._where()}: {pair_words(record)}")
        elif troubled(record):
            self._say(pair_words(record))

    def fetching(self, done_files: int, files: int) -> None:
        """Rewrite the line, once a second."""
        if self._terminal and self._clock() - self._written_s >= _REWRITTEN_S:
            self._written_s = self._clock()
            self._rewrite(f"fetching the receiver's half: {done_files} of {files} files")

    def ended(self, end: RunEnd) -> None:
        """The summary, on standard output."""
        self._wipe()
        self._answers.write(end.summary + "\n")
        self._answers.flush()

    def close(self) -> None:
        """Wipe the live line."""
        self._wipe()

    def _where(self) -> str:
        assert self._run is not None
        planned = self._run.plan.pairs_planned
        return f"{self._finished} pairs" if planned is None else f"{self._finished} of {planned} pairs"

    def _say(self, line: str) -> None:
        self._wipe()
        self._put(line + "\n")

    def _rewrite(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._put(f"\r{line[:width].ljust(width)}")

    def _wipe(self) -> None:
        if self._terminal:
            self._put("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")

    def _put(self, text: str) -> None:
        # Who closed the terminal or the log does not end the campaign by it.
        with suppress(OSError, ValueError):
            self._live.write(text)
            self._live.flush()


def _left(left_s: float | None) -> list[str]:
    return [] if left_s is None else [f"{shown_s(left_s)} left"]
