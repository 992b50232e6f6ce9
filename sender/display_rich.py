"""The display where rich is installed: a progress bar over the pairs, and beneath it the transfer in flight."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from sender.display import Display, Pace, RunEnd, RunView
from sender.display_plain import fetched_words, moving_words, opening_lines, pair_words, troubled
from sender.live import Moving
from sender.plan import Step, TransferPlan
from sender.quantities import shown_s

Record = dict[str, Any]


class RichDisplay(Display):
    """The bars go to standard error, the summary to standard output."""

    def __init__(self, console: Console | None = None, answers: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._answers = answers or Console(file=sys.stdout, highlight=False, markup=False, soft_wrap=True)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[words]}", markup=False),
        )
        self._progress = Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True)
        self._pairs: TaskID | None = None
        self._transfer: TaskID | None = None
        self._pace: Pace | None = None
        self._finished = 0
        self._probe_bytes = 0
        self._began_s = time.monotonic()
        self._part = ""
        self._part_bytes = 0

    def started(self, run: RunView) -> None:
        """Say what is going to happen, and draw the bars."""
        for line in opening_lines(run):
            self._say(line)
        self._pace = Pace(run.plan, run.finished, run.earlier_s)
        self._began_s = time.monotonic()
        self._finished = run.finished
        self._pairs = self._progress.add_task("pairs", total=1.0, words="")
        self._transfer = self._progress.add_task("", total=1, words="", start=False)
        self._progress.start()

    def transfer_begins(self, step: Step, part: str, plan: TransferPlan) -> None:
        """The lower bar begins anew."""
        self._part = f"{step.entry.index} pair {step.pair} {part}"
        self._probe_bytes = 0 if part == "probe" else step.entry.probe.moved_bytes
        self._part_bytes = plan.moved_bytes
        if self._transfer is not None:
            self._progress.reset(self._transfer, total=plan.moved_bytes, description=self._part, words="")

    def moving(self, moving: Moving) -> None:
        """Both bars move."""
        if self._transfer is None:
            return
        words = ", ".join(moving_words(self._part, self._part_bytes, moving)[1:])
        self._progress.update(self._transfer, completed=moving.moved_bytes, words=words)
        self._update_pairs(self._probe_bytes + moving.moved_bytes)

    def pair_finished(self, record: Record) -> None:
        """The upper bar moves; a pair that failed, or was not recorded whole, gets a line that stays."""
        self._finished += 1
        self._update_pairs(0)
        if troubled(record):
            self._say(pair_words(record))

    def attempt_failed(self, step: Step, attempt: int, error: str, wait_s: float) -> None:
        """A line that stays."""
        self._say(f"pair {step.sequence}, attempt {attempt}: {error}; trying again in {shown_s(wait_s)}")

    def noticed(self, text: str) -> None:
        """A line that stays."""
        self._say(text)

    def fetching(self, done_files: int, files: int) -> None:
        """The lower bar counts files."""
        if self._transfer is None:
            self._transfer = self._progress.add_task("", total=files, words="")
            self._progress.start()
        self._progress.update(
            self._transfer,
            total=files,
            completed=done_files,
            description="fetching",
            words=f"{done_files} of {files} files",
        )

    def fetched(self, status: str, files: int, fetched_bytes: int, error: str | None) -> None:
        """A line that stays."""
        self._say(fetched_words(status, files, fetched_bytes, error))

    def ended(self, end: RunEnd) -> None:
        """The summary, on standard output."""
        self.close()
        self._answers.print(end.summary)

    def close(self) -> None:
        """The bars go."""
        self._progress.stop()

    def _update_pairs(self, moved_bytes: int) -> None:
        if self._pairs is None or self._pace is None:
            return
        elapsed_s = time.monotonic() - self._began_s
        left_s = self._pace.left_s(self._finished, moved_bytes, elapsed_s)
        words = f"{self._finished} finished" + ("" if left_s is None else f", {shown_s(left_s)} left")
        self._progress.update(self._pairs, completed=self._pace.share(self._finished, elapsed_s), words=words)

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)
