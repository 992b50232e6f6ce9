"""The display where rich is installed: a progress bar over the pairs, and beneath it the transfer in flight."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console

from vmtrace.capture import live_display
from vmtrace.formats.quantities import shown_s
from vmtrace.sender.display.view import RunEnd, RunView
from vmtrace.sender.display.words import LineDisplay, moving_words, pair_words, troubled
from vmtrace.sender.live import Moving
from vmtrace.sender.plan import Step, TransferPlan

Record = dict[str, Any]


class RichDisplay(LineDisplay):
    """The bars go to standard error, the summary to standard output."""

    def __init__(self, console: Console | None = None, answers: Console | None = None) -> None:
        super().__init__(time.monotonic)
        self._live = live_display.RichDisplay(console)
        self._answers = answers or Console(file=sys.stdout, highlight=False, markup=False, soft_wrap=True)
        self._pairs: live_display.Bar | None = None
        self._transfer: live_display.Bar | None = None

    def started(self, run: RunView) -> None:
        """Say what is going to happen, and draw the bars."""
        super().started(run)
        self._pairs = self._live.bar("pairs", 1.0)
        self._transfer = self._live.bar("", 1.0)

    def transfer_begins(self, step: Step, part: str, plan: TransferPlan) -> None:
        """The lower bar begins anew."""
        super().transfer_begins(step, part, plan)
        if self._transfer is not None:
            self._transfer.restart(self._part, plan.moved_bytes)

    def moving(self, moving: Moving) -> None:
        """Both bars move."""
        self._say_second(moving)
        if self._transfer is None:
            return
        words = ", ".join(moving_words(self._part, self._part_bytes, moving)[1:])
        self._transfer.show(done=moving.moved_bytes, words=words)
        self._update_pairs(moving.moved_bytes)

    def pair_finished(self, record: Record) -> None:
        """The upper bar moves; a pair that failed, or was not recorded whole, gets a line that stays."""
        super().pair_finished(record)
        self._probe_bytes = 0
        self._update_pairs(0)
        if troubled(record):
            self._say(pair_words(record))

    def fetching(self, done_files: int, files: int) -> None:
        """The lower bar counts files."""
        if self._transfer is None:
            self._transfer = self._live.bar("fetching")
        self._transfer.restart("fetching", files)
        self._transfer.show(done=done_files, words=f"{done_files} of {files} files")

    def ended(self, end: RunEnd) -> None:
        """The summary, on standard output."""
        self.close()
        self._answers.print(end.summary)

    def close(self) -> None:
        """The bars go."""
        self._live.close()

    def _update_pairs(self, moved_bytes: int) -> None:
        if self._pairs is None or self._pace is None:
            return
        left_s = self._left_s(moved_bytes)
        words = f"{self._finished} finished" + ("" if left_s is None else f", {shown_s(left_s)} left")
        self._pairs.show(done=self._pace.share(self._finished, self._clock() - self._began_s), words=words)

    def _say(self, line: str) -> None:
        self._live.say(line)
