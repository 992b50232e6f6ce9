"""The display without rich: one line that is rewritten each second on a terminal, a line for each pair in a log."""

from __future__ import annotations

import time
from typing import Any, Callable, TextIO

from vmtrace.capture.live_display import Every, RewrittenLine, is_terminal, put
from vmtrace.formats.quantities import shown_s
from vmtrace.sender.display.view import RunEnd, RunView
from vmtrace.sender.display.words import LineDisplay, moving_words, pair_words, troubled
from vmtrace.sender.live import Moving

Record = dict[str, Any]
_REWRITTEN_S = 1.0


class PlainDisplay(LineDisplay):
    """Progress on one stream (standard error), the summary on the other (standard output)."""

    def __init__(self, live: TextIO, answers: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._live = live
        self._answers = answers
        self._line = RewrittenLine(live) if is_terminal(live) else None
        self._run: RunView | None = None
        self._every = Every(_REWRITTEN_S, clock)

    def started(self, run: RunView) -> None:
        """Say what is going to happen."""
        self._run = run
        super().started(run)

    def moving(self, moving: Moving) -> None:
        """Rewrite the line, once a second."""
        self._say_second(moving)
        if self._line is not None and self._every():
            words = moving_words(self._part, self._part_bytes, moving)
            self._line.show(", ".join([self._where(), *words, *_left(self._left_s(moving.moved_bytes))]))

    def pair_finished(self, record: Record) -> None:
        """A line in a log; on a terminal the live line is enough, unless something is wrong."""
        super().pair_finished(record)
        if self._line is None:
            self._say(f"{self._where()}: {pair_words(record)}")
        elif troubled(record):
            self._say(pair_words(record))

    def fetching(self, done_files: int, files: int) -> None:
        """Rewrite the line, once a second."""
        if self._line is not None and self._every():
            self._line.show(f"fetching the receiver's files: {done_files} of {files} files")

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
        put(f"{line}\n", self._live)

    def _wipe(self) -> None:
        if self._line is not None:
            self._line.clear()


def _left(left_s: float | None) -> list[str]:
    return [] if left_s is None else [f"{shown_s(left_s)} left"]
